"""From the shares of absent, + and - among the reports of a key to frequency and mean, when key and value have a coin
each (P algorithms 3, 4 and 7).

A holder is seen present with probability p, a non-holder with 1 - p; every sign then tells the truth with p2, and
c2 = 2 p2 - 1. With Y the share seen present, X the share of + less that of -, m0 the mean of the non-holders' signs:

    E Y = f p + (1-f)(1-p),    E X = c2 [p f m + (1-p)(1-f) m0].

Unbiased  f = (Y - 1 + p)/(2p - 1), total = f m = [X/c2 - (1-p)(1-f) m0]/p.
Paper     m = X/(c2 Y), cut to -1..1: pulled towards m0 by theta = (1-f)(1-p)/(f p + (1-f)(1-p)).     P algorithm 4
Virtual   m_c = m0 + (m_1 - m0)(1 + theta + ... + theta^(c-1)): c rounds without the devices, in closed form.
          Tends to the unbiased mean; what is left of the bias is theta^c (m0 - m).                    P algorithm 7
"""

from typing import NamedTuple

import numpy as np

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.key_value.fieller import Ratio


class Seen(NamedTuple):
    """What the reports of every key show: how many there are, the share present, and the balance of signs."""

    reports: Floats
    present: Floats
    balance: Floats

    @classmethod
    def of(cls, absent: Floats, minus: Floats, plus: Floats) -> "Seen":
        """From counts; shares are not a number where a key has no reports."""
        reports = (absent + minus + plus).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            return cls(reports, (minus + plus) / reports, (plus - minus) / reports)


class Coins(NamedTuple):
    """Chances that presence (p) and sign (p2) are told truthfully, and the mean m0 of the non-holders' signs."""

    presence: float
    sign: float
    fake: Floats | float = 0.0

    @property
    def gain(self) -> float:
        """c2."""
        return 2 * self.sign - 1


def share(seen: Seen, coins: Coins) -> tuple[Floats, Floats]:
    """f and its variance, with the devices as a sample; the observed share is cut to what the coins allow for it."""
    p = coins.presence
    f = (seen.present - 1 + p) / (2 * p - 1)
    likely = np.clip(seen.present, 1 - p, p)
    with np.errstate(divide="ignore"):
        return f, likely * (1 - likely) / (seen.reports * (2 * p - 1) ** 2)


def unbiased(seen: Seen, coins: Coins, pooled: Seen | None = None) -> Ratio:
    """f and f m, with variances by linear propagation of those of Y and X.

    `pooled` has more reports of the same keys (of all value dimensions), of which `seen` are a part: f is taken there.
    """
    pooled = seen if pooled is None else pooled
    p, gain, fake = coins.presence, coins.gain, np.asarray(coins.fake)
    f, f_variance = share(pooled, coins)
    total = (seen.balance / gain - (1 - p) * (1 - f) * fake) / p
    present = np.clip(seen.present, 1 - p, p)
    balance = np.clip(seen.balance, -gain * present, gain * present)
    with np.errstate(divide="ignore", invalid="ignore"):
        x_variance = (present - balance**2) / seen.reports
        f_x = balance * (1 - present) / (pooled.reports * (2 * p - 1))
    of_x, of_f = 1 / (gain * p), (1 - p) * fake / p
    return Ratio(
        np.broadcast_to(f, total.shape),
        total,
        np.broadcast_to(f_variance, total.shape),
        of_x**2 * x_variance + 2 * of_x * of_f * f_x + of_f**2 * f_variance,
        of_x * f_x + of_f * f_variance,
    )


def paper_mean(seen: Seen, coins: Coins) -> tuple[Floats, Floats]:
    """The paper's mean with the standard error of its noise (its bias is theta (m0 - m)); 0 where none was present."""
    gain = coins.gain
    with np.errstate(divide="ignore", invalid="ignore"):
        raw = np.where(seen.present > 0, seen.balance / (gain * seen.present), 0.0)
        ratio = np.clip(seen.balance / seen.present, -gain, gain)
        stderr = np.sqrt((1 - ratio**2) / (seen.reports * seen.present)) / gain
    return np.clip(raw, -1.0, 1.0), np.where(seen.present > 0, stderr, np.nan)


def theta(f: Floats, presence: float) -> Floats:
    """Which part of a paper's mean comes from non-holders, f cut to 0..1."""
    f = np.clip(f, 0.0, 1.0)
    fake = (1 - f) * (1 - presence)
    return fake / (f * presence + fake)


def virtual_mean(seen: Seen, coins: Coins, rounds: int) -> tuple[Floats, Floats]:
    """The mean after `rounds` rounds of which only the first took place, and the standard error of its noise."""
    f, _ = share(seen, coins)
    factor = virtual_factor(theta(f, coins.presence), rounds)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(seen.present > 0, seen.balance / (coins.gain * seen.present), 0.0)
    _, stderr = paper_mean(seen, coins)
    return np.clip(coins.fake + (first - coins.fake) * factor, -1.0, 1.0), stderr * factor


def virtual_factor(part: Floats, rounds: int) -> Floats:
    """1 + theta + ... + theta^(rounds-1): how much further from the fakes' mean than the first round's."""
    return np.asarray(np.polynomial.polynomial.polyval(part, np.ones(rounds)), dtype=np.float64)
