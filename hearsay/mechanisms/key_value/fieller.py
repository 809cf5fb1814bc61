"""Confidence intervals of means that are ratios of two estimates.

The mean of a key is m = s/f, with s the mean over all devices of [holds the key] x value, and f the share of holders.
Both are estimated with noise. Fieller's interval (1954) is the set of all m in -1..1 that the data do not reject:

    |s - m f| <= z se(s - m f),    se^2 = Var s - 2 m Cov(f, s) + m^2 Var f.

It keeps its coverage if f is close to 0, where value +- z stderr does not. Then it may be all of -1..1.

If a key has few reports, variances estimated from them are useless: one report has no spread. `KeyScores` uses for
every m the variance that follows if m is the true mean. Each of the N reports of a key has a score phi for its presence
and a score sigma for its value, with expectations f and f m. Their mean squares are linear in f and f m, so under m

    N Var(s - m f) = E sigma^2 - 2 m E phi sigma + m^2 E phi^2 = v(f) - 2 m tilt(f) + m^2 (p(f) - 2 both f),

where only f is unknown; tilt is 0 if the fake signs of non-holders have mean 0. If few reports have a sign, f is taken
at both ends of its own interval, and half of one report's step is added. With many reports neither is needed.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from hearsay.mechanisms.estimates.estimate import Z95, Floats
from hearsay.mechanisms.estimates.intervals import Spread, score

_UNCERTAIN = 4.0  # reports of a key with which its difference from other keys is not used
_FEW_SIGNS = 8.0  # reports with a sign: up to so many, the full correction; with ten times as many, a tenth of it
_ROUNDING = 1e-9
Ends = tuple[Floats, Floats]


class Ratio(NamedTuple):
    """Share and total of many keys (any shape), with their variances and covariance."""

    share: Floats
    total: Floats
    share_variance: Floats
    total_variance: Floats
    covariance: Floats

    def mean(self) -> Floats:
        """total/share; NaN if the estimated share is not positive."""
        known = self.share > 0
        return np.where(known, self.total / np.where(known, self.share, 1.0), np.nan)

    def stderr(self) -> Floats:
        """By the delta method at the mean clipped to -1..1; NaN if the mean is unknown."""
        known = self.share > 0
        variance = self.variance_at(np.clip(np.nan_to_num(self.mean()), -1.0, 1.0))
        return np.where(known, np.sqrt(np.maximum(variance, 0.0)) / np.where(known, self.share, 1.0), np.nan)

    def variance_at(self, mean: Floats) -> Floats:
        """Var(total - mean share)."""
        return self.total_variance - 2 * mean * self.covariance + mean**2 * self.share_variance

    def interval(self, z: Floats | float = Z95) -> tuple[Floats, Floats]:
        """The ends of Fieller's interval, within -1..1.

        With f = 0.5 and s = 0.2, both with a standard error of 0.1, and z = 2, m is accepted if
        (0.2 - 0.5 m)^2 <= 0.04 (1 + m^2), so if 0.21 m^2 <= 0.2 m:

        >>> ratio = Ratio(*(np.array([number]) for number in (0.5, 0.2, 0.01, 0.01, 0.0)))
        >>> [f"{end[0]:.3f}" for end in (ratio.mean(), *ratio.interval(2.0))]
        ['0.400', '0.000', '0.952']
        """
        square = z * z
        a = self.share**2 - square * self.share_variance
        b = -2 * (self.share * self.total - square * self.covariance)
        c = self.total**2 - square * self.total_variance
        with np.errstate(all="ignore"):
            root = np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
            first, second = (-b - root) / (2 * a), (-b + root) / (2 * a)
        smaller, larger = np.minimum(first, second), np.maximum(first, second)
        # a > 0: all m between the roots. a <= 0: all m outside them, so -1 or 1 is an end unless a root excludes it.
        inner_low, inner_high = np.clip(smaller, -1.0, 1.0), np.clip(larger, -1.0, 1.0)
        with np.errstate(invalid="ignore"):
            outer = b * b - 4 * a * c > 0
            left_open, right_open = smaller >= -1.0, larger <= 1.0
        outer_low = np.where(outer & ~left_open & right_open, inner_high, -1.0)
        outer_high = np.where(outer & ~right_open & left_open, inner_low, 1.0)
        between = a > 0
        low, high = np.where(between, inner_low, outer_low), np.where(between, inner_high, outer_high)
        unknown = ~np.isfinite(a + b + c)
        return np.where(unknown, -1.0, low), np.where(unknown, 1.0, high)


@dataclass(frozen=True)
class KeyScores:
    """The moments of one report's scores, as (constant, slope) in f, and the number of reports of every key."""

    presence: tuple[float, float]  # p(f) = E phi^2
    value: tuple[float, float]  # v(f) = E sigma^2
    both: float  # E phi sigma = both f m
    step: float  # the difference of phi between a report that says present and one that says absent
    value_step: float  # half of the difference of sigma between plus and minus
    reports: Floats  # by key
    value_reports: Floats  # by key and value dimension
    certain: float = 0.0  # the part of f(1-f) that is no error: f is a share of these devices, not of a population
    apart: bool = False  # whether reports of different keys come from different devices
    excluded: float = 0.0  # minus phi of a report that names another key, if a report names one key only
    tilt: tuple[float, float] = (0.0, 0.0)
    squares: Floats | None = None  # by key and dimension: estimates of v(f) - v(0), if values are not only signs

    @classmethod
    def of(
        cls, channel: Floats, phi: Floats, sigma: Floats, reports: Floats, value_reports: Floats, **known: Any
    ) -> Self:
        """From the scores of the symbols, and P(symbol | absent), then P(symbol | value) by ascending value."""
        presence, value, both = channel @ phi**2, channel @ sigma**2, channel @ (phi * sigma)
        return cls(
            (float(presence[0]), float(presence[1] - presence[0])),
            (float(value[0]), float(value[1] + value[-1]) / 2 - float(value[0])),
            float(both[-1] - both[1]) / max(float(channel[-1] @ sigma - channel[1] @ sigma), 1e-300),
            float(phi[-1] - phi[0]),
            float(np.abs(sigma).max()),
            reports,
            value_reports,
            tilt=(float(both[0]), float(both[1] + both[-1]) / 2 - float(both[0]) - float(value[-1] - value[1]) / 4),
            **known,
        )

    def share_ends(self, share: Floats, z: float = Z95) -> Ends:
        """The ends of the score intervals of shares."""
        n = np.maximum(self.reports, 1.0)
        constant, slope = self.presence
        spread = Spread(constant / n, (slope - self.certain) / n, (self.certain - 1) / n)
        return score(np.nan_to_num(share), [spread], 1, self.step / n, z=z)

    def mean_ends(self, share: Floats, total: Floats) -> Ends:
        """The ends of the intervals of the means of every key and value dimension."""
        n, each = np.maximum(self.reports, 1.0)[:, None], np.maximum(self.value_reports, 1.0)
        limits = [np.clip(end, 0.0, 1.0)[:, None] for end in self.share_ends(share)]
        correction = self._correction(self._value(limits[1], each) * each)
        shares = np.broadcast_to(share[:, None], total.shape)
        variances: list[tuple[Floats, ...]] = []
        for end in limits:
            f = np.clip(shares, 0.0, 1.0)
            f = f + correction * (end - f)
            variances.append((self._value(f, each) / each, self._tilt(f) / n, self._presence(f) / n))
        low, high = hull(shares, total, variances, correction * self.value_step / each)
        unknown = (self.value_reports <= 0) | ~np.isfinite(shares + total)
        return np.where(unknown, -1.0, low), np.where(unknown, 1.0, high)

    def _correction(self, squares: Floats) -> Floats:
        """How much of the correction for few signs is applied: 1 if there are few, tending to 0 if there are many.

        `squares` is the sum of sigma^2 over all reports.
        """
        return np.minimum(1.0, _FEW_SIGNS * self.value_step**2 / np.maximum(squares, 1e-300))

    def _presence(self, f: Floats) -> Floats:
        return self.presence[0] + (self.presence[1] - 2 * self.both) * f

    def _tilt(self, f: Floats) -> Floats:
        return self.tilt[0] + self.tilt[1] * f

    def _value(self, f: Floats, each: Floats) -> Floats:
        constant, slope = self.value
        if self.squares is None:
            return constant + slope * f
        likely = self.squares + Z95 * np.sqrt(slope * (constant + slope * f) / each)
        return constant + np.minimum(slope * f, np.maximum(likely, 0.0))

    def range_ends(self, share: Floats, total: Floats, low: int, high: int) -> Ends:
        """The interval of the mean of all pairs with keys in low..high, by value dimension."""
        inside = slice(low, high + 1)
        f, s, n, each = share[inside], total[inside], self.reports[inside], self.value_reports[inside]
        if not (each > 0).all():
            return np.full(s.shape[1], -1.0), np.full(s.shape[1], 1.0)
        own, count = self._joined(len(f)), float(len(f))
        per, per_value = float((1 / n).mean()), (1 / each).mean(axis=0)
        spread = Spread(own.presence[0] * per, own.presence[1] * per)
        limits = [np.clip(end, 0.0, count) for end in score(np.array([f.sum()]), [spread], 1, self.step * per, count)]
        correction = self._correction((own.value[0] + own.value[1] * limits[1]) / per_value)
        variances: list[tuple[Floats, ...]] = []
        for end in limits:
            holders = np.clip(f.sum(), 0.0, count)
            holders = holders + correction * (end - holders)
            of_value = (own.value[0] + own.value[1] * holders) * per_value
            variances.append((of_value, own._tilt(holders) * per, own._presence(holders) * per))
        # The variances above assume that all keys have the mean of the range. The differences between the keys, if each
        # has many reports, are no noise, and their variance is subtracted.
        weight = np.maximum(1 - _UNCERTAIN / each, 0.0) / each if self.apart else np.zeros_like(each)
        s_off, f_off = s - s.mean(axis=0), (f - f.mean())[:, None]
        less = ((weight * s_off**2).sum(axis=0), (weight * s_off * f_off).sum(axis=0), (weight * f_off**2).sum(axis=0))
        half_step = correction * self.value_step * per_value
        return hull(np.full(s.shape[1], f.sum()), s.sum(axis=0), variances, half_step, less)

    def _joined(self, keys: int) -> "KeyScores":
        """The scores of the sum of so many keys; their f is the sum of the shares of the keys."""
        others, (constant, slope) = keys - 1, self.presence
        presence = keys * (constant - others * self.excluded**2), slope - 2 * others * self.excluded
        value = keys * self.value[0], self.value[1]
        tilt = keys * self.tilt[0], self.tilt[1]
        return replace(self, presence=presence, value=value, tilt=tilt, both=self.both - others * self.excluded)


def hull(
    share: Floats, total: Floats, variances: list[tuple[Floats, ...]], half_step: Floats, less: tuple[Floats, ...] = ()
) -> Ends:
    """The least and the largest m that is accepted with any of the `variances`, each reduced by `less`.

    One of the variances is (variance of total, covariance, variance of share).
    """
    lows, highs = [], []
    for noise in variances:
        of_total, covariance, of_share = (a - b for a, b in zip(noise, less, strict=True)) if less else noise
        low, high = _accepted(Ratio(share, total, of_share, of_total, covariance), half_step)
        lows.append(low)
        highs.append(high)
    return np.minimum.reduce(lows), np.maximum.reduce(highs)


def _accepted(ratio: Ratio, half_step: Floats) -> Ends:
    """The least and the largest m in -1..1 with |s - m f| <= half_step + z se(s - m f): -1, 1, or a root."""
    square = Z95**2
    a = ratio.share**2 - square * ratio.share_variance
    candidates = [np.full(ratio.total.shape, -1.0), np.full(ratio.total.shape, 1.0)]
    with np.errstate(all="ignore"):
        for total in (ratio.total - half_step, ratio.total + half_step):
            b = ratio.share * total - square * ratio.covariance
            root = np.sqrt(b * b - a * (total**2 - square * ratio.total_variance))
            # If the variance at m is not positive, only the half step decides: the last candidate.
            candidates += [(b - root) / a, (b + root) / a, total / ratio.share]
        m = np.stack(candidates)
        difference = np.abs(ratio.total - m * ratio.share)
        allowed = half_step + Z95 * np.sqrt(np.maximum(ratio.variance_at(m), 0.0))
        accepted = (np.abs(m) <= 1) & (difference <= allowed * (1 + _ROUNDING) + _ROUNDING)
        none = ~accepted.any(axis=0)
        nearest = np.clip(np.nan_to_num(ratio.total / ratio.share), -1.0, 1.0)
    low, high = np.where(accepted, m, 1.0).min(axis=0), np.where(accepted, m, -1.0).max(axis=0)
    return np.where(none, nearest, low), np.where(none, nearest, high)
