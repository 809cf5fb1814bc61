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
}
WINDOWS = 3
Report = tuple[int, ...]


def life_of(secret: bytes) -> Callable[[str], Random]:
    return lambda text: DerivedRandom(secret + text.encode())


def row(reports: dict[str, Any]) -> Report:
    return tuple(int(reports[name][0]) for name in sorted(reports))


def buckets_by_public(mechanism: Mechanism) -> dict[Report, tuple[str, ...]]:
    """For every public part, as the report has it with an answer that is never changed, the bucket of each value."""
    parts: dict[Report, tuple[str, ...]] = {}
    for seed in range(400):
        asked: list[str] = []

        def stream(text: str, seed: int = seed, asked: list[str] = asked) -> Random:
            asked.append(text)
            return seeded(seed) if text == PUBLIC else seeded(1)

        labels, publics = [], set()
        for value in range(mechanism.domain.size):
            report = mechanism.perturb_memoised(np.array([value]), stream)
            labels.append(asked.pop())
            assert labels[-1].startswith(ANSWER)
            assert asked.pop() == PUBLIC
            publics.add(public_part(mechanism, report))
        assert len(publics) == 1, "the public part looks at the value"
        parts[publics.pop()] = tuple(labels)
    return parts


def public_part(mechanism: Mechanism, report: dict[str, Any]) -> Report:
    if mechanism.ID == "haar":
        return int(report["level"][0]), int(report["symbol"][0]) >> 1
    return (int(report["vector"][0]),)


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
        for values in product(range(mechanism.domain.size), repeat=WINDOWS):
            told = [labels[value] for value in values]
            lives[tuple(told.index(each) for each in told)].add(tuple(dict.fromkeys(told)))
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
    assert worst > min(g, WINDOWS) * mechanism.epsilon * 0.9, "the bound is reached as far as three windows go"
    assert log(g) > 0


@pytest.mark.parametrize("name", TABLES)
def test_one_window_of_many_lives_is_an_ordinary_report(name: str) -> None:
    mechanism, count = build(TABLES[name]), 3_000
    number = {row(report): index for index, report in enumerate(_listed(mechanism))}
    drawn = np.zeros(len(number))
    for secret in range(count):
        drawn[number[row(mechanism.perturb_memoised(np.array([2]), life_of(b"%d" % secret)))]] += 1
    expected = count * mechanism.channel()[2]
    assert (abs(drawn - expected) <= 6 * np.sqrt(expected) + 6).all()


@pytest.mark.parametrize("name", TABLES)
def test_a_life_repeats_itself(name: str) -> None:
    mechanism = build(TABLES[name])
    told = [row(mechanism.perturb_memoised(np.array([value]), life_of(b"secret"))) for value in (1, 3, 1, 3, 1)]
    assert told[0] == told[2] == told[4]
    assert told[1] == told[3]
    others = {row(mechanism.perturb_memoised(np.array([1]), life_of(b"%d" % secret))) for secret in range(50)}
    assert len(others) > 3


def test_a_mechanism_without_a_public_part_refuses() -> None:
    mechanism = build({"mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 4}})
    assert mechanism.memoised_buckets is None
    with pytest.raises(SpecificationError, match="mechanism grr cannot be memoised"):
        mechanism.perturb_memoised(np.array([1]), life_of(b"secret"))
