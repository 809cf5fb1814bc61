"""Frequency and mean of a key if presence and sign are perturbed separately (Ye et al. 2019, algorithms 3, 4 and 7).

A holder is reported present with probability p, a non-holder with 1 - p. Every sign is then kept with probability p2,
and c2 = 2 p2 - 1. Let Y be the share of a key's reports that say present, X the share of + minus the share of -, f the
share of holders, m their mean, and m0 the mean of the fake signs of non-holders. Then

    E Y = f p + (1-f)(1-p),    E X = c2 [p f m + (1-p)(1-f) m0].

Unbiased  f = (Y - 1 + p)/(2p - 1), total = f m = [X/c2 - (1-p)(1-f) m0]/p.
Paper     m = X/(c2 Y), clipped to -1..1 (algorithm 4). Its bias is theta (m0 - m) with theta = (1-f)(1-p)/(f p +
          (1-f)(1-p)), the share of non-holders among the reports that say present.
Virtual   m_c = m0 + (m_1 - m0)(1 + theta + ... + theta^(c-1)): what c rounds would give, in closed form, without
          asking devices again (algorithm 7). Its bias is theta^c (m0 - m), which tends to 0.
"""

from typing import NamedTuple

import numpy as np

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.key_value.fieller import Ratio


class Seen(NamedTuple):
    """Observed in the reports of every key."""

    reports: Floats  # how many
    present: Floats  # Y
    balance: Floats  # X

    @classmethod
    def of(cls, absent: Floats, minus: Floats, plus: Floats) -> "Seen":
        """From counts; shares are NaN for a key without reports."""
        reports = (absent + minus + plus).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            return cls(reports, (minus + plus) / reports, (plus - minus) / reports)


class Coins(NamedTuple):
    """The probabilities of the two coins, and the mean of the fake signs."""

    presence: float  # p
    sign: float  # p2
    fake: Floats | float = 0.0  # m0

    @property
    def gain(self) -> float:
        """c2."""
        return 2 * self.sign - 1


def share(seen: Seen, coins: Coins) -> tuple[Floats, Floats]:
    """f and its variance for devices that are a sample; in the variance Y is clipped to its possible values."""
    p = coins.presence
    f = (seen.present - 1 + p) / (2 * p - 1)
    likely = np.clip(seen.present, 1 - p, p)
    with np.errstate(divide="ignore"):
        return f, likely * (1 - likely) / (seen.reports * (2 * p - 1) ** 2)


def unbiased(seen: Seen, coins: Coins, pooled: Seen | None = None) -> Ratio:
    """f and f m, with variances by linear propagation of those of Y and X.

    `pooled` has the reports of the same keys over all value dimensions, of which `seen` are a part; f is estimated from
    `pooled`.
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
    """The paper's mean, 0 if no report says present, and the standard error of its noise, without its bias."""
    gain = coins.gain
    with np.errstate(divide="ignore", invalid="ignore"):
        raw = np.where(seen.present > 0, seen.balance / (gain * seen.present), 0.0)
        ratio = np.clip(seen.balance / seen.present, -gain, gain)
        stderr = np.sqrt((1 - ratio**2) / (seen.reports * seen.present)) / gain
    return np.clip(raw, -1.0, 1.0), np.where(seen.present > 0, stderr, np.nan)


def theta(f: Floats, presence: float) -> Floats:
    """theta: the share of non-holders among the reports that say present, with f clipped to 0..1."""
    f = np.clip(f, 0.0, 1.0)
    fake = (1 - f) * (1 - presence)
    return fake / (f * presence + fake)


def virtual_mean(seen: Seen, coins: Coins, rounds: int) -> tuple[Floats, Floats]:
    """m_c with c = `rounds`, and the standard error of its noise."""
    f, _ = share(seen, coins)
    factor = virtual_factor(theta(f, coins.presence), rounds)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(seen.present > 0, seen.balance / (coins.gain * seen.present), 0.0)
    _, stderr = paper_mean(seen, coins)
    return np.clip(coins.fake + (first - coins.fake) * factor, -1.0, 1.0), stderr * factor


def virtual_factor(thetas: Floats, rounds: int) -> Floats:
    """1 + theta + ... + theta^(rounds-1)."""
    return np.asarray(np.polynomial.polynomial.polyval(thetas, np.ones(rounds)), dtype=np.float64)
