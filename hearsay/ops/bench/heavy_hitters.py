"""Frequent texts without a given list, compared with pure-ldp's prefix extending method (PEM).

No other library detects them. PEM asks an oracle about prefixes. Its default oracle, local hashing, goes through all
26^6 texts for every report; among its oracles only the sketches do not. So PEM uses its Hadamard count-mean sketch, and
extends prefixes by one letter at a time. With numpy 2 this sketch fails, because it fills an array of shape None:
`_Sketch` uses shape 0 instead. PEM has neither intervals nor a limit of detection: it always names as many texts as
asked. Both run in this process, so times are processor time; ours is the shortest of three runs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from time import process_time
from typing import Any

import numpy as np

from hearsay.mechanisms.exact.randomness import secure
from hearsay.ops.bench.texts import some_texts, survey
from hearsay.ops.terminal.present import print_table

LETTERS, ASKED, TIMES, OUR_RUNS = 6, 10, 20, 3
SKETCH_ROWS, SKETCH_COLUMNS = 64, 1024
EPSILONS = (1.0, 2.0)
COLUMNS = (
    "epsilon", "s", "told", "right", "pure-ldp s", "its told", "its right", "times faster", "target", "holds",
)  # fmt: skip


@dataclass(frozen=True)
class Detected:
    """The texts that were detected, and the seconds that devices and search took together."""

    seconds: float
    texts: list[str]


@dataclass(frozen=True)
class TextComparison:
    """The results of `prefixes` and of pure-ldp on the same texts."""

    epsilon: float
    ours: Detected
    theirs: Detected
    frequent: Sequence[str]

    @property
    def times(self) -> float:
        return self.theirs.seconds / self.ours.seconds

    @property
    def holds(self) -> bool:
        """Whether ours is as many times faster as required, with no more false texts."""
        return self.times >= TIMES and self._false(self.ours) <= self._false(self.theirs)

    def _false(self, detected: Detected) -> int:
        return len(set(detected.texts) - set(self.frequent))

    def row(self) -> list[Any]:
        counts = [
            number for each in (self.ours, self.theirs) for number in (each.seconds, len(each.texts), self._right(each))
        ]
        return [self.epsilon, *counts, self.times, TIMES, self.holds]

    def table(self) -> dict[str, Any]:
        """The row by its columns."""
        return dict(zip(COLUMNS, self.row(), strict=True))

    def _right(self, detected: Detected) -> int:
        return len(set(detected.texts) & set(self.frequent))


def by_prefixes(people: Sequence[str], epsilon: float) -> Detected:
    """The texts that `prefixes` detects, with the letters declared as alphabet."""
    mechanism: Any = survey(LETTERS, epsilon, ascii_lowercase)
    start = process_time()
    reports = mechanism.perturb(mechanism.domain.read({"value": people}), secure())
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), reports))
    texts = [mechanism.domain.code.decode(code) for code in estimate.detected[:ASKED]]
    return Detected(process_time() - start, texts)


def by_pem(people: Sequence[str], epsilon: float) -> Detected:
    """The texts that pure-ldp names."""
    from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer
    from pure_ldp.heavy_hitters import PEMClient, PEMServer

    class _Sketch(CMSServer):  # type: ignore[misc]
        d = property(lambda self: 0, lambda self, size: None)

    sketch = _Sketch(epsilon, SKETCH_ROWS, SKETCH_COLUMNS, is_hadamard=True)
    oracle = CMSClient(epsilon, sketch.get_hash_funcs(), SKETCH_COLUMNS, is_hadamard=True)
    shape: dict[str, Any] = {"alphabet": list(ascii_lowercase), "index_mapper": _as_it_is}
    client = PEMClient(epsilon, 0, LETTERS, 1, fo_client=oracle, **shape)
    server = PEMServer(epsilon, 0, LETTERS, 1, fo_server=sketch, **shape)
    start = process_time()
    for text in people:
        server.aggregate(client.privatise(text))
    texts, _ = server.find_heavy_hitters(k=ASKED)
    return Detected(process_time() - start, list(texts))


def _as_it_is(text: str) -> str:
    return text


def compare_texts(
    reports: int, epsilon: float, theirs: Callable[[Sequence[str], float], Detected] = by_pem
) -> TextComparison:
    """Both on the same texts; the frequent ones are the ten that half of the devices have."""
    people = some_texts(reports, LETTERS, np.random.default_rng(int(10 * epsilon)))
    values, counts = np.unique(people, return_counts=True)
    frequent = [str(text) for text in values[np.argsort(-counts)[:ASKED]]]
    ours = min((by_prefixes(people, epsilon) for _ in range(OUR_RUNS)), key=lambda detected: detected.seconds)
    return TextComparison(epsilon, ours, theirs(people, epsilon), frequent)


def print_texts(compared: Sequence[TextComparison], reports: int) -> None:
    """The table of `hearsay bench peers`."""
    caption = (
        f"{reports:,} texts of {LETTERS} letters, half of the devices have one of ten; devices and search together"
    )
    print_table("frequent texts", COLUMNS, [each.row() for each in compared], caption)
