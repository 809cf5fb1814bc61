"""Key-value surveys and means of numbers at the edges: shares of keys, means of keys and of ranges of keys, quantiles;
of `heavy` the number of candidates that a device holds in a range of items.

A mean's interval that is the whole of the domain says nothing; it is counted apart. Where a survey has bins, values lie
in their middles: what a mean loses by bins is no noise.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.key_value.pairs import Pairs, bins_of
from hearsay.mechanisms.means.queries import OneSpread
from hearsay.ops.experiments.calibration.cases import DATA, Counts, crossed, with_others
from hearsay.ops.experiments.calibration.coverage import TOGETHER_UP_TO, points_at_level
from hearsay.ops.experiments.calibration.rounds import estimate_after_rounds
from hearsay.ops.experiments.calibration.tally import Measurement, Tally, planned

KINDS = ("heavy", "rare", "empty", "mean", "std", "range", "quantile")
PAIRS = with_others(
    (
        *("privkv", "privkv split", "privkv bins", "privkvm", "privkvm+"),
        *("pckv-grr", "pckv-ue", "collision", "hierarchical pairs", "heavy"),
    ),
    "key-value",
)
NUMBERS = with_others(("mean", "mean duchi", "mean piecewise", "mean hybrid", "mean moments"), "number")
SIZES = (2, 3, 7, 255, 1000)
RANKS = np.array([0.1, 0.5, 0.9])
_BINS = 8
_MOST = 3  # pairs that a device holds
_KEYS = 10  # of a kind that are looked at
_RANGES = 4
_HEAVY_ITEMS = 8
_OPTIONS: dict[str, dict[str, Any]] = {"split": {"budget": "split"}, "bins": {"bins": _BINS}}
_WHOLE = (-1.0, 1.0)
_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class PairCase:
    """One setting; a single key stands for numbers."""

    mechanism: str
    size: int
    data: str
    reports: int
    epsilon: float

    @property
    def where(self) -> str:
        return "numbers" if self.mechanism in NUMBERS else f"{self.size} keys"

    def table(self) -> dict[str, Any]:
        """The mechanism as a survey has it."""
        name, *form = self.mechanism.split()
        table: dict[str, Any] = {"mechanism": name, "epsilon": self.epsilon}
        if name == "mean":
            options = {"moments": 2} if form == ["moments"] else {"channel": form[0]} if form else {}
            return {**table, "options": options, "domain": {"kind": "number", "low": -1, "high": 1}}
        options = _OPTIONS.get(" ".join(form), {})
        pairs: dict[str, Any] = {
            "kind": "key-value",
            "keys": self.size,
            "ordered": True,
            "pairs": min(_MOST, self.size),
        }
        if name == "heavy":
            options, pairs["values"] = {"k": min(_HEAVY_ITEMS, self.size // 2)}, False
        return {**table, "options": options, "domain": pairs}

    def people(self) -> Any:
        """Who holds what; the same in every run."""
        generator = np.random.default_rng([self.size, self.reports, DATA.index(self.data)])
        if self.mechanism in NUMBERS:
            return _numbers(self.data, self.reports, generator)
        keys = _keys(self.data, self.reports, self.size, generator)
        fresh = keys >= 0
        for nth in range(1, keys.shape[1]):
            fresh[:, nth] &= (keys[:, :nth] != keys[:, nth : nth + 1]).all(axis=1)
        device, number = np.nonzero(fresh)
        values = _numbers(self.data, len(device), generator)
        if self.mechanism == "heavy":
            values = np.zeros((len(device), 0))
        if self.mechanism == "privkv bins":
            values = (2 * bins_of(values, _BINS) + 1) / _BINS - 1
        return Pairs.grouped(device, keys[device, number], values, self.reports)


def _keys(data: str, devices: int, size: int, generator: np.random.Generator) -> Counts:
    """Keys drawn by each device, repeated ones and -1 (nothing) included."""
    if data in ("point", "edge"):
        return np.full((devices, 1), size // 3 if data == "point" else size - 1)
    if data == "peaks":
        return generator.choice([size // 8, size - 1 - size // 8], (devices, 1))
    weights = np.ones(size) if data == "uniform" else 1 / np.arange(1, size + 1)
    keys = generator.choice(size, (devices, min(_MOST, size)), p=weights / weights.sum())
    keys[generator.random(devices) < 0.2] = -1
    return keys.astype(np.int64)


def _numbers(data: str, count: int, generator: np.random.Generator) -> Floats:
    """Values in -1..1."""
    if data == "uniform":
        return generator.uniform(-1.0, 1.0, count)
    if data == "zipf":
        return 2 * generator.random(count) ** 4 - 1
    if data == "peaks":
        return generator.choice([-1.0, 1.0], count)
    return np.full(count, 0.4 if data == "point" else 1.0)


def cases(mechanism: str, quick: bool) -> Iterator[PairCase]:
    """All settings of a mechanism; the quick form has few of them."""
    sizes: tuple[int, ...] = (1,) if mechanism in NUMBERS else SIZES
    if mechanism == "collision":  # every key is hashed by every function of its pool
        sizes = SIZES[:3]
    if quick:
        sizes = tuple(size for size in sizes if size in ((3,) if mechanism == "heavy" else (1, 7)))
    for size, name, n, epsilon in crossed(sizes, ("zipf", "edge"), quick):
        yield PairCase(mechanism, size, name, n, epsilon)


def measure(case: PairCase, runs: int, seed: int) -> Measurement:
    """So many runs of one case."""
    mechanism, people = planned(case), case.people()
    generator = np.random.default_rng([seed, case.size, case.reports, int(case.epsilon * 10)])
    exact: Any = mechanism.exact(people)
    result = Measurement(case)
    of_kind = {} if case.mechanism in NUMBERS else _chosen(exact.share, case.reports, generator)
    for _ in range(runs):
        estimate: Any = estimate_after_rounds(mechanism, people, generator)
        if case.mechanism in NUMBERS:
            _tally(result, "mean", runs).add(estimate.mean(), exact.mean().value, _WHOLE)
            if isinstance(estimate, OneSpread):
                _tally(result, "std", runs).add(estimate.std(), exact.std().value, (0.0, 1.0))
            continue
        every = np.arange(exact.share.size)
        if every.size <= TOGETHER_UP_TO:
            result.add_together(estimate.points(every), partial(points_at_level, estimate, every), exact.share)
        for kind, keys in of_kind.items():
            _tally(result, kind, runs).add(estimate.points(keys), exact.share[keys])
        if case.mechanism == "heavy":
            _item_ranges(result, estimate, exact, generator, runs)
            continue
        asked = np.concatenate([of_kind.get(kind, _NONE) for kind in ("heavy", "rare", "other")])
        means = estimate.means.take((asked, 0))
        _tally(result, "mean", runs).add(means, exact.means.value[asked, 0], _WHOLE)
        if case.mechanism == "privkv bins":
            _quantiles(result, estimate, exact, asked, runs)
        else:
            _ranges(result, estimate, exact, generator, runs)
    result.tallies.pop("other", None)
    return result


def _tally(result: Measurement, kind: str, runs: int) -> Tally:
    return result.tallies.setdefault(kind, Tally(runs=runs))


def _chosen(share: Floats, reports: int, generator: np.random.Generator) -> dict[str, Counts]:
    """The fullest key, keys of one to five holders, of more, of nobody: some of each."""
    holders = np.rint(share * reports).astype(np.int64)
    fullest = int(holders.argmax())
    by_kind = {
        "heavy": np.array([fullest]) if holders[fullest] else np.zeros(0, dtype=np.int64),
        "rare": np.flatnonzero((holders > 0) & (holders <= 5)),
        "other": np.setdiff1d(np.flatnonzero(holders > 5), [fullest]),
        "empty": np.flatnonzero(holders == 0),
    }
    sampled = {
        kind: keys if keys.size <= _KEYS else generator.choice(keys, _KEYS, replace=False)
        for kind, keys in by_kind.items()
    }
    return {kind: keys for kind, keys in sampled.items() if keys.size}


def _ranges(result: Measurement, estimate: Any, exact: Any, generator: np.random.Generator, runs: int) -> None:
    """Means of ranges of keys that somebody holds."""
    for low, high in np.sort(generator.integers(0, exact.share.size, (_RANGES, 2)), axis=1).tolist():
        if exact.share[low : high + 1].sum() > 0 and low < high:
            true = exact.range_means(low, high).value
            _tally(result, "range", runs).add(estimate.range_means(low, high), true, _WHOLE)


def _item_ranges(result: Measurement, estimate: Any, exact: Any, generator: np.random.Generator, runs: int) -> None:
    """Ranges of items that hold candidates: only these are counted."""
    for low, high in np.sort(generator.integers(0, exact.share.size, (_RANGES, 2)), axis=1).tolist():
        inside = estimate.candidates[(low <= estimate.candidates) & (estimate.candidates <= high)]
        if inside.size:
            true = exact.share[inside].sum(keepdims=True)
            _tally(result, "range", runs).add(estimate.item_range(low, high), true)


def _quantiles(result: Measurement, estimate: Any, exact: Any, keys: Counts, runs: int) -> None:
    """The middle of the bin where a quantile lies, in its band."""
    for key in keys[:_RANGES].tolist():
        shares = exact.shown[key, 0, 1:]
        at = np.searchsorted(np.cumsum(shares) / shares.sum(), RANKS - 1e-9)
        true = (2 * at + 1) / _BINS - 1
        measured = estimate.quantiles(RANKS, key)
        _tally(result, "quantile", runs).add(measured, true, _WHOLE)
