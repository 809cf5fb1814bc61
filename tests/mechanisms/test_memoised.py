"""Memoised lives: they repeat, one window is an ordinary report, lives that share buckets alike are g epsilon apart."""

from collections import defaultdict
from collections.abc import Callable
from itertools import product
from math import log
from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.base import ANSWER, PUBLIC
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.randomness import DerivedRandom, Random, seeded

TABLES: dict[str, dict[str, Any]] = {
    "hrr": {"mechanism": "hrr", "epsilon": 1.1, "domain": {"kind": "categorical", "size": 5}},
    "olh": {"mechanism": "olh", "epsilon": 1.1, "domain": {"kind": "categorical", "size": 5}},
    "olh-named": {
        **{"mechanism": "olh", "epsilon": 1.5, "domain": {"kind": "categorical", "size": 5}},
        "options": {"t": 3, "named": 2},
    },
    "haar": {"mechanism": "haar", "epsilon": 0.7, "domain": {"kind": "ordinal", "size": 8}},
    "hierarchical": {
        **{"mechanism": "hierarchical", "epsilon": 0.9, "domain": {"kind": "ordinal", "size": 8}},
        "options": {"fanout": 2, "oracle": "hrr"},
    },
    "hierarchical-olh": {
        **{"mechanism": "hierarchical", "epsilon": 1.5, "domain": {"kind": "ordinal", "size": 8}},
        "options": {"levels": ["2 hrr 1024 at 4", "2 hrr 1024 at 2", "2 olh 2048"]},
    },
    "hierarchical-grid": {
        **{"mechanism": "hierarchical", "epsilon": 1.0, "domain": {"kind": "grid", "sizes": [3, 2]}},
        "options": {"fanout": 2, "oracle": "hrr"},
    },
    "inp-ht": {
        **{"mechanism": "inp-ht", "epsilon": 1.1},
        "domain": {"kind": "attributes", "names": ["a", "b", "c"], "order": 2},
    },
    "inp-ht-natural": {
        **{"mechanism": "inp-ht", "epsilon": 2.0, "options": {"code": "natural", "t": 2}},
        "domain": {"kind": "attributes", "names": ["a", "b"], "sizes": [3, 2], "order": 2},
    },
    "marg-ps": {
        **{"mechanism": "marg-ps", "epsilon": 0.6},
        "domain": {"kind": "attributes", "names": ["a", "b", "c"], "sizes": [2, 2, 3], "order": 1},
    },
    "privkv": {"mechanism": "privkv", "epsilon": 1.0, "domain": {"kind": "key-value", "keys": 2}},
    "privkv-bins": {
        **{"mechanism": "privkv", "epsilon": 1.5, "domain": {"kind": "key-value", "keys": 2}},
        "options": {"bins": 3},
    },
    "privkv-two": {
        **{"mechanism": "privkv", "epsilon": 1.0},
        "domain": {
            **{"kind": "key-value", "keys": 2},
            "values": [{"name": "cups", "low": 0, "high": 9}, {"name": "stars", "low": 1, "high": 5}],
        },
    },
}
WINDOWS = 3
Report = tuple[int, ...]


def life_of(secret: bytes) -> Callable[[str], Random]:
    return lambda text: DerivedRandom(secret + text.encode())


def row(reports: dict[str, Any]) -> Report:
    return tuple(int(reports[name][0]) for name in sorted(reports))


def every_value(mechanism: Mechanism) -> Any:
    """All values of a small domain, one after the other; of a key, both ends or one of each bin."""
    domain: Any = mechanism.domain
    if domain.kind == "key-value":
        return domain.every_set(mechanism.bins)  # type: ignore[attr-defined]
    along = np.unravel_index(np.arange(domain.size), domain.shape)
    return along[0] if len(along) == 1 else np.stack(along, axis=1)


def buckets_by_public(mechanism: Mechanism) -> dict[Report, tuple[str, ...]]:
    """For every public part, as the report has it with an answer that is never changed, the bucket of each value."""
    parts: dict[Report, tuple[str, ...]] = {}
    values = every_value(mechanism)
    for seed in range(400):
        asked: list[str] = []

        def stream(text: str, seed: int = seed, asked: list[str] = asked) -> Random:
            if not text.startswith(PUBLIC):
                asked.append(text)
            return seeded(1_000 * seed + len(text)) if text.startswith(PUBLIC) else seeded(1)

        labels, publics = [], set()
        for number in range(len(values)):
            report = mechanism.perturb_memoised(values[number : number + 1], stream)
            labels.append(asked.pop())
            assert labels[-1].startswith(ANSWER)
            publics.add(public_part(mechanism, report))
        assert len(publics) == 1, "the public part looks at the value"
        parts[publics.pop()] = tuple(labels)
    return parts


def public_part(mechanism: Mechanism, report: dict[str, Any]) -> Report:
    if mechanism.ID == "haar":
        return int(report["level"][0]), int(report["symbol"][0]) >> 1
    if mechanism.ID == "hierarchical":
        level = int(report["level"][0])
        oracle = mechanism.levels.oracles[level]  # type: ignore[attr-defined]
        return level, int(report["symbol"][0]) // oracle.buckets
    if mechanism.ID == "marg-ps":
        return (int(np.searchsorted(mechanism.views.starts, report["cell"][0], side="right")),)  # type: ignore[attr-defined]
    names = {"privkv": ("key", "dimension"), "inp-ht": ("characters",)}.get(mechanism.ID, ("vector",))
    return tuple(int(report[name][0]) for name in names if name in report)


def rows_by_public(mechanism: Mechanism) -> dict[Report, list[int]]:
    """The columns of the channel that have each public part."""
    columns = defaultdict(list)
    for number, report in enumerate(_listed(mechanism)):
        columns[public_part(mechanism, report)].append(number)
    return columns


def _listed(mechanism: Mechanism) -> list[dict[str, Any]]:
    every = mechanism.layout.enumerate()
    count = len(next(iter(every.values())))
    return [{name: column[number : number + 1] for name, column in every.items()} for number in range(count)]


@pytest.mark.parametrize("name", TABLES)
def test_lives_that_share_buckets_alike_differ_by_at_most_g_epsilon(name: str) -> None:
    mechanism = build(TABLES[name])
    g = mechanism.memoised_buckets
    assert g is not None
    channel, columns, buckets = mechanism.channel(), rows_by_public(mechanism), buckets_by_public(mechanism)
    assert set(buckets) == set(columns), "every public part was met"
    worst = 0.0
    for public, labels in buckets.items():
        answers = channel[:, columns[public]]
        answers = answers / answers.sum(axis=1, keepdims=True)
        of_bucket: dict[str, Any] = {}
        for value, label in enumerate(labels):  # values of one bucket have one distribution
            np.testing.assert_allclose(of_bucket.setdefault(label, answers[value]), answers[value], rtol=1e-12)
        lives: dict[tuple[int, ...], set[tuple[str, ...]]] = defaultdict(set)
        for told in product(sorted(set(labels)), repeat=WINDOWS):  # lives alike in their buckets are told alike
            lives[tuple(map(told.index, told))].add(tuple(dict.fromkeys(told)))
        for alike in lives.values():  # their outputs: one answer for each different bucket, in the order of windows
            for one, other in product(alike, repeat=2):
                worst = max(
                    worst,
                    sum(
                        float(np.log(of_bucket[mine] / of_bucket[theirs]).max())
                        for mine, theirs in zip(one, other, strict=True)
                    ),
                )
    assert worst <= g * mechanism.epsilon * (1 + 1e-9)
    most = min(max(len(set(labels)) for labels in buckets.values()), WINDOWS)
    assert worst > most * mechanism.epsilon * 0.9, "the bound is reached as far as three windows go"
    assert log(g) > 0


@pytest.mark.parametrize("name", TABLES)
def test_one_window_of_many_lives_is_an_ordinary_report(name: str) -> None:
    mechanism, count = build(TABLES[name]), 3_000
    number = {row(report): index for index, report in enumerate(_listed(mechanism))}
    drawn, values = np.zeros(len(number)), every_value(mechanism)
    for secret in range(count):
        drawn[number[row(mechanism.perturb_memoised(values[2:3], life_of(b"%d" % secret)))]] += 1
    expected = count * mechanism.channel()[2]
    assert (abs(drawn - expected) <= 6 * np.sqrt(expected) + 6).all()


@pytest.mark.parametrize("name", TABLES)
def test_a_life_repeats_itself(name: str) -> None:
    mechanism = build(TABLES[name])
    values = every_value(mechanism)
    last = len(values) - 1
    told = [
        row(mechanism.perturb_memoised(values[number : number + 1], life_of(b"secret")))
        for number in (1, last, 1, last, 1)
    ]
    assert told[0] == told[2] == told[4]
    assert told[1] == told[3]
    others = {row(mechanism.perturb_memoised(values[1:2], life_of(b"%d" % secret))) for secret in range(50)}
    assert len(others) > 3


def test_a_value_is_rounded_once_for_life() -> None:
    """Rounded afresh in every window, the share of plus signs would tell the value; over devices it still does."""
    mechanism = build({"mechanism": "privkv", "epsilon": 12.0, "domain": {"kind": "key-value", "keys": 2}})

    def told(value: float, secret: int) -> int:
        pairs = mechanism.domain.one({0: value, 1: value})
        return int(mechanism.perturb_memoised(pairs, life_of(b"%d" % secret))["symbol"][0])

    assert all(len({told(0.5, secret) for _ in range(20)}) == 1 for secret in range(20))
    signs = [told(0.5, secret) for secret in range(2_000)]
    assert 0.70 < signs.count(2) / len(signs) < 0.80  # (1 + 0.5) / 2


def test_a_tree_over_an_oracle_without_a_public_part_refuses() -> None:
    domain = {"kind": "ordinal", "size": 8}
    mechanism = build(
        {"mechanism": "hierarchical", "epsilon": 1.0, "domain": domain, "options": {"fanout": 2, "oracle": "oue"}}
    )
    assert mechanism.memoised_buckets is None
    with pytest.raises(SpecificationError, match="mechanism hierarchical cannot be memoised"):
        mechanism.perturb_memoised(np.array([1]), life_of(b"secret"))


def test_a_mechanism_without_a_public_part_refuses() -> None:
    mechanism = build({"mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 4}})
    assert mechanism.memoised_buckets is None
    with pytest.raises(SpecificationError, match="mechanism grr cannot be memoised"):
        mechanism.perturb_memoised(np.array([1]), life_of(b"secret"))
