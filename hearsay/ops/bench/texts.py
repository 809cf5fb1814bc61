"""Surveys of texts: devices, fold, the search over all levels, and `top` afterwards."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.exact.randomness import secure, seeded
from hearsay.mechanisms.questions import answer, parse_text
from hearsay.ops.bench.row import Row, best_seconds

TEXTS = 1_000_000
LENGTH = 32  # symbols of a byte: 32 levels and the whole text are 33 questions
SEARCH_S, TOP_MS, DEVICES_S, FOLD = 1.0, 10.0, 30.0, 10e6


def survey(length: int = LENGTH, epsilon: float = 1.0, alphabet: Any = "bytes") -> Mechanism:
    """A mechanism for texts."""
    domain = {"kind": "text", "length": length, "alphabet": alphabet}
    return build({"mechanism": "prefixes", "epsilon": epsilon, "domain": domain})


def some_texts(count: int, length: int, generator: np.random.Generator) -> list[str]:
    """Half of the people hold one of ten texts by Zipf's law, the others one of 20,000."""
    letters = generator.integers(ord("a"), ord("z") + 1, (20_010, length), dtype=np.uint8)
    words = [bytes(row).decode() for row in letters]
    weights = np.concatenate([1 / np.arange(1, 11), np.zeros(20_000)])
    weights = 0.5 * weights / weights.sum() + 0.5 * np.append(np.zeros(10), np.full(20_000, 1 / 20_000))
    return [words[number] for number in generator.choice(len(words), count, p=weights)]


def rows() -> Iterator[Row]:
    """Four rows; each is one core."""
    mechanism: Any = survey()
    people = some_texts(TEXTS, LENGTH, np.random.default_rng(1))

    def devices() -> Any:
        return mechanism.perturb(mechanism.domain.read({"value": people}), secure())

    (simulating,) = best_seconds(devices, repeats=1)
    yield Row(f"devices of {TEXTS:,} texts, {mechanism.questions} questions", simulating, "s", DEVICES_S, at_most=True)
    reports = mechanism.perturb(mechanism.domain.read({"value": people}), seeded(1))
    folded = mechanism.empty()
    (folding,) = best_seconds(lambda: mechanism.fold(folded, reports), repeats=3)
    yield Row("fold texts, epsilon 1, one core", TEXTS / folding, "reports/s", FOLD)
    state = mechanism.fold(mechanism.empty(), reports)
    (searching,) = best_seconds(lambda: mechanism.estimate(state), repeats=3)
    title = f"materialise texts, {mechanism.questions} questions"
    yield Row(title, searching, "s", SEARCH_S, at_most=True)
    estimate, question = mechanism.estimate(state), parse_text("top 10")
    (asking,) = best_seconds(lambda: answer(question, estimate), repeats=7)
    yield Row("top 10 of texts", 1e3 * asking, "ms", TOP_MS, at_most=True)
