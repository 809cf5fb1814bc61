"""PrivKV with a joint budget, in one round: a sampled key, and randomised response over {absent, bins of the value}.

Device    Draw one of the d keys uniformly. The symbol is absent if the device does not hold the key; otherwise it is
          the value rounded at random to a sign, or its bin with option `bins`. Report key and symbol, the symbol by
          generalised randomised response over B + 1 symbols.
Privacy   The key is independent of the device's pairs. With e = exp(eps), the true symbol has probability p = e/(e+B)
          and each other one q = 1/(e+B), so p/q <= e^eps.
Estimate  Of the N reports of a key let y0 be the share of absent, x the share of + minus that of -, g = p - q. Then
          f = 1 - (y0-q)/g and f m = x/g, both unbiased.
Variance  N Var f = y0(1-y0)/g^2 - f(1-f)/d. Var(f m - mu f) = [(1-y0-x^2) - 2 mu x y0 + mu^2 y0(1-y0)]/(N g^2) for any
          mu, from which Fieller's intervals of means follow.

This is algorithms 3 and 4 of Ye et al. 2019 with one randomised response instead of two, which would waste half of
epsilon (`budget = "split"`, see `privkv_split`).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import ANSWER, PUBLIC, State, Streams
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.key_value.bins import BinEstimate, exact_bins
from hearsay.mechanisms.key_value.estimate import KeyEstimate
from hearsay.mechanisms.key_value.fieller import KeyScores
from hearsay.mechanisms.key_value.sampled_key import SampledOnce, Symbols, keyed_reports, sample, true_symbols
from hearsay.mechanisms.layout import Reports
from hearsay.mechanisms.options import Option, choice, integer, number
from hearsay.mechanisms.oracles.grr import GRR

PRIVKV_OPTIONS: tuple[Option, ...] = (
    choice("budget", "joint", ("joint", "split"), "one coin over absent and signs, or the paper's two with eps/2 each"),
    choice("estimator", "unbiased", ("unbiased", "paper"), "means without bias, or the paper's calibration (split)"),
    integer("virtual", 0, 0, 1000, "rounds to predict without the devices (split); 0: none"),
    number("initial", 0.0, -1.0, 1.0, "mean of the values that non-holders make up (split)"),
    integer("bins", 2, 2, 1024, "bins of the value (joint): 2 for means, more for quantiles"),
)


@dataclass(frozen=True)
class PrivKV(SampledOnce):
    """One randomised response over absent and all bins."""

    ESTIMATE: ClassVar[type[KeyEstimate]] = BinEstimate  # a plain KeyEstimate if there are only signs
    ID = "privkv"
    SUMMARY = "one key of all, sampled; presence and value under one coin: frequencies and means of key-value pairs"
    OPTIONS = PRIVKV_OPTIONS
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 1.0, "domain": {"kind": "key-value", "keys": 4}},
        {
            "epsilon": 2.0,
            "domain": {
                "kind": "key-value",
                "keys": ["tea", "milk", "rusk"],
                "values": [{"name": "cups", "low": 0, "high": 9}, {"name": "stars", "low": 1, "high": 5}],
            },
        },
        {"epsilon": 1.5, "domain": {"kind": "key-value", "keys": 3}, "options": {"bins": 4}},
        {"epsilon": 1.0, "domain": {"kind": "key-value", "keys": 3, "values": False}},
    )

    def check(self) -> None:
        for name, neutral in (("estimator", "unbiased"), ("virtual", 0), ("initial", 0.0)):
            if self.options[name] != neutral:
                raise SpecificationError(
                    what=f"options.{name}",
                    expected=f'{neutral} with options.budget "joint"',
                    got=repr(self.options[name]),
                )
        if not self.domain.dimensions and self.options["bins"] != 2:
            raise SpecificationError(f"options.bins needs a domain with values, got {self.options['bins']}")

    @property
    def bins(self) -> int:
        return int(self.options["bins"]) if self.domain.dimensions else 1

    @cached_property
    def coin(self) -> GRR:
        """Randomised response over absent and the bins."""
        return GRR.over(self.bins + 1, self.epsilon)

    @cached_property
    def chances(self) -> tuple[float, float, float]:
        """p, q and g = p - q."""
        return self.coin.hit_chances()

    @cached_property
    def symbol_chances(self) -> NDArray[np.float64]:
        """P(reported symbol | true symbol): one row for each true symbol."""
        return self.coin.channel()

    @property
    def spent_epsilon(self) -> float:
        return self.coin.spent_epsilon

    def perturb_symbols(self, symbols: Symbols, random: Random) -> Symbols:
        return self.coin.randomise(symbols, random)

    @property
    def memoised_buckets(self) -> int:
        """The number of symbols: absent and the bins."""
        return self.bins + 1

    def perturb_memoised(self, values: Any, stream: Streams) -> Reports:
        """The random word by which a value is rounded to a sign is drawn once, for all windows.

        If the value were rounded afresh in each window, the share of plus signs would reveal it.
        """
        pairs = self.domain.check(values)
        key, dimension = sample(self.domain.size, self.dimensions, 1, stream(PUBLIC))
        symbol = true_symbols(pairs, key, dimension, self.bins, stream("rounding"))
        return keyed_reports(self.layout, key, dimension, self.perturb_symbols(symbol, stream(f"{ANSWER} {symbol[0]}")))

    def symbol_channel(self) -> NDArray[np.float64]:
        return self.symbol_chances

    @cached_property
    def middles(self) -> Floats:
        """The value of each symbol: 0 for absent, then the signs, or the middles of the bins."""
        if self.bins <= 2:
            return np.array([0.0, -1.0, 1.0])[: self.bins + 1]
        return np.array([0.0, *((2 * np.arange(self.bins) + 1) / self.bins - 1)])

    def estimate(self, state: State) -> KeyEstimate:
        p, q, gap = self.chances
        counts = state["counts"].astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            reports = counts.sum(axis=2)  # keys x dimensions
            shown = counts / reports[:, :, None]
            pooled = reports.sum(axis=1)
            absent = counts[:, :, 0].sum(axis=1) / pooled
            share = 1 - (absent - q) / gap
            clipped = np.clip(share, 0.0, 1.0)
            absent = np.clip(absent, q, p)
            share_variance = absent * (1 - absent) / (pooled * gap**2)
            corrected = share_variance - clipped * (1 - clipped) / (self.domain.size * pooled)
            balance = shown @ self.middles
            square = np.maximum(shown, q) @ self.middles**2
            total = balance / gap
            limit = gap * clipped[:, None]
            likely = np.clip(balance, -limit, limit)
            total_variance = (square - likely**2) / (reports * gap**2)
            covariance = absent[:, None] * likely / (pooled[:, None] * gap**2)
        keep = slice(None) if self.domain.dimensions else slice(0)
        fields = (share, np.sqrt(corrected), total[:, keep], share_variance)
        noise = (total_variance[:, keep], covariance[:, keep])
        n = self.reports(state)
        present = np.append(0.0, np.ones(self.bins))
        scores = KeyScores.of(
            self.symbol_chances,
            (present - self.bins * q) / gap,
            self.middles / gap,
            pooled,
            reports[:, keep],
            certain=1 / self.domain.size,
            apart=True,
            squares=(shown - q) @ self.middles**2 / gap**2 if self.bins > 2 else None,
        )
        if self.bins <= 2:
            return KeyEstimate(self.domain, n, *fields, *noise, scores=scores)
        return BinEstimate(
            self.domain, n, *fields, *noise, scores=scores, shown=shown, per_key=reports, chances=(q, gap)
        )

    def exact(self, values: Any) -> KeyEstimate:
        return super().exact(values) if self.bins <= 2 else exact_bins(self.domain, values, self.bins)

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """The errors of a rare key's share, and of the mean of a key that a quarter of the devices hold."""
        p, q, gap = self.chances
        each = self.predicted_keys(reports)
        absent = q + gap * 0.75
        errors = {"point": float(np.sqrt(p * (1 - p) / each) / gap)}
        if self.domain.dimensions:
            errors["mean"] = float(np.sqrt((1 - absent) * self.dimensions / each) / gap / 0.25)
        return errors
