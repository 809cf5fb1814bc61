"""Simulated surveys of texts: either every device reports, or only the counts of the buckets are drawn.

The number of reports that name a bucket is the sum of two binomials: of the devices whose text is in the bucket, and of
the others. Different buckets of one question are nearly independent. If many reports name a bucket, its count is drawn
from the normal distribution with the same mean and variance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import build
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.text.code import Octets
from hearsay.mechanisms.text.estimate import TextEstimate
from hearsay.mechanisms.text.prefixes import Prefixes

LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MANY = 400  # reports that name a bucket: from so many on the normal distribution is used


@dataclass(frozen=True)
class People:
    """Texts as codes, and how many devices have each."""

    codes: Octets
    counts: NDArray[np.int64]

    @property
    def shares(self) -> Floats:
        shares: Floats = self.counts / self.counts.sum()
        return shares


def survey(epsilon: float, length: int, alphabet: Any = "bytes", **options: Any) -> Prefixes:
    """The mechanism of a survey of texts."""
    domain = {"kind": "text", "length": length, "alphabet": alphabet}
    table = {"mechanism": "prefixes", "epsilon": epsilon, "domain": domain, "options": options}
    mechanism: Prefixes = build(table)  # type: ignore[assignment]
    return mechanism


def planted(
    mechanism: Prefixes, share: float, others: int, devices: int, texts: int, generator: np.random.Generator
) -> People:
    """First `texts` random texts of the given share each; then `others` texts, which the other devices have."""
    words = random_words(texts + others, mechanism.domain.length, generator)
    heavy = round(share * devices)
    rest = generator.multinomial(devices - texts * heavy, np.full(len(words) - texts, 1 / (len(words) - texts)))
    return People(mechanism.domain.code.encode(words), np.concatenate([np.full(texts, heavy), rest]))


def random_words(count: int, longest: int, generator: np.random.Generator) -> list[str]:
    """Different words of random letters, of four to `longest` letters each."""
    lengths = generator.integers(4, longest + 1, 2 * count)
    letters = generator.integers(0, len(LETTERS), (2 * count, longest))
    words = (
        "".join(LETTERS[letter] for letter in row[:end]) for row, end in zip(letters.tolist(), lengths, strict=True)
    )
    return list(dict.fromkeys(words))[:count]


def played(mechanism: Prefixes, people: People, seed: int) -> TextEstimate:
    """The estimate from a report of every device."""
    values = np.repeat(people.codes, people.counts, axis=0)
    return mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(values, seeded(seed))))


def drawn(mechanism: Prefixes, people: People, generator: np.random.Generator) -> TextEstimate:
    """The estimate from drawn counts."""
    return mechanism.estimate_from(_answers(mechanism, people, generator))


def _answers(mechanism: Prefixes, people: People, generator: np.random.Generator) -> Iterator[tuple[Floats, int]]:
    questions = mechanism.questions
    asked = generator.multinomial(people.counts, np.full(questions, 1 / questions))
    for question in range(questions):
        oracle, hashed = mechanism.oracle(question), mechanism.hashes[question]
        holders = np.bincount(hashed(people.codes), weights=asked[:, question], minlength=oracle.domain.size)
        n = int(holders.sum())
        p, q = oracle.hit_chances()
        if n * q >= _MANY:
            spread = holders * p * (1 - p) + (n - holders) * q * (1 - q)
            hits = holders * p + (n - holders) * q + np.sqrt(spread) * generator.standard_normal(holders.size)
        else:
            own = holders.astype(np.int64)
            hits = (generator.binomial(own, p) + generator.binomial(n - own, q)).astype(np.float64)
        yield (hits / max(n, 1) - q) / (p - q), n
