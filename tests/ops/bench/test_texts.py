"""The bench of texts, and its comparison with pure-ldp without that library."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from hearsay.ops.bench import texts
from hearsay.ops.bench.heavy_hitters import TIMES, Detected, TextComparison, by_prefixes, compare_texts
from hearsay.ops.bench.texts import some_texts

GOOD = TextComparison(1.0, Detected(0.1, ["a", "b"]), Detected(3.0, ["a", "c"]), ["a", "b"])


@pytest.mark.parametrize(
    ("changed", "holds"),
    [
        (GOOD, True),
        (replace(GOOD, theirs=Detected(0.1 * TIMES - 0.1, ["a"])), False),
        (replace(GOOD, ours=Detected(0.1, ["c", "d"])), False),
        (replace(GOOD, ours=Detected(0.1, [])), True),
    ],
)
def test_what_holds(changed: TextComparison, holds: bool) -> None:
    assert changed.holds is holds


def test_both_get_the_same_texts_and_ours_tells_no_false_one() -> None:
    taken: list[Sequence[str]] = []

    def perfect(people: Sequence[str], epsilon: float) -> Detected:
        taken.append(people)
        values, counts = np.unique(people, return_counts=True)
        return Detected(1e3, [str(text) for text in values[np.argsort(-counts)[:10]]])

    compared = compare_texts(30_000, 4.0, perfect)
    assert len(taken[0]) == 30_000
    row = compared.table()
    assert row["its told"] == row["its right"] == 10
    assert 0 < row["told"] == row["right"], "at epsilon 4 the heaviest are told, and no other"
    assert compared.holds


def test_the_frequent_texts_are_held_by_half_of_the_people() -> None:
    people = some_texts(20_000, 6, np.random.default_rng(1))
    _, counts = np.unique(people, return_counts=True)
    assert 0.45 < np.sort(counts)[-10:].sum() / 20_000 < 0.55
    assert by_prefixes(people, 4.0).seconds > 0


def test_the_bench_has_its_four_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "TEXTS", 2_000)
    rows = list(texts.rows())
    assert [row.unit for row in rows] == ["s", "reports/s", "s", "ms"]
    assert "33 questions" in rows[0].what
    assert all(row.value > 0 for row in rows)
