"""Frequent texts that nobody listed, beside the one library that finds them: pure-ldp's prefix extending method (PEM).

PEM asks an oracle about prefixes. Its own choice, local hashing, goes through all 26^6 texts for every report; of its
oracles only the sketches do not. So the comparison gives it its Hadamard count-mean sketch, one letter more at a time.
That one cannot be made with numpy 2, which refuses to fill an array of shape None: `_Sketch` says 0 instead. PEM has
neither intervals nor a limit for being told: it always names as many texts as asked. Times are processor time, since
both run in this process; of ours the shortest of three runs.
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
class Found:
    """Seconds of devices and search together, and the texts that were told."""

    seconds: float
    texts: list[str]


@dataclass(frozen=True)
class TextComparison:
    """Ours and pure-ldp's on the same texts."""

    epsilon: float
    ours: Found
    theirs: Found
    frequent: Sequence[str]

    @property
    def times(self) -> float:
        return self.theirs.seconds / self.ours.seconds

    @property
    def holds(self) -> bool:
        """Quicker, with no more false texts."""
        return self.times >= TIMES and self._false(self.ours) <= self._false(self.theirs)

    def _false(self, found: Found) -> int:
        return len(set(found.texts) - set(self.frequent))

    def row(self) -> list[Any]:
        counts = [
            number for each in (self.ours, self.theirs) for number in (each.seconds, len(each.texts), self._right(each))
        ]
        return [self.epsilon, *counts, self.times, TIMES, self.holds]

    def table(self) -> dict[str, Any]:
        """The row by its columns."""
        return dict(zip(COLUMNS, self.row(), strict=True))

    def _right(self, found: Found) -> int:
        return len(set(found.texts) & set(self.frequent))


def by_prefixes(people: Sequence[str], epsilon: float) -> Found:
    """By `prefixes`, with the letters declared."""
    mechanism: Any = survey(LETTERS, epsilon, ascii_lowercase)
    start = process_time()
    reports = mechanism.perturb(mechanism.domain.read({"value": people}), secure())
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), reports))
    texts = [mechanism.domain.code.decode(code) for code in estimate.told[:ASKED]]
    return Found(process_time() - start, texts)


def by_pem(people: Sequence[str], epsilon: float) -> Found:
    """By pure-ldp."""
    from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer
    from pure_ldp.heavy_hitters import PEMClient, PEMServer

    class _Sketch(CMSServer):  # type: ignore[misc]
        d = property(lambda self: 0, lambda self, size: None)

    sketch = _Sketch(epsilon, SKETCH_ROWS, SKETCH_COLUMNS, is_hadamard=True)
    told_by = CMSClient(epsilon, sketch.get_hash_funcs(), SKETCH_COLUMNS, is_hadamard=True)
    shape: dict[str, Any] = {"alphabet": list(ascii_lowercase), "index_mapper": _as_it_is}
    client = PEMClient(epsilon, 0, LETTERS, 1, fo_client=told_by, **shape)
    server = PEMServer(epsilon, 0, LETTERS, 1, fo_server=sketch, **shape)
    start = process_time()
    for text in people:
        server.aggregate(client.privatise(text))
    texts, _ = server.find_heavy_hitters(k=ASKED)
    return Found(process_time() - start, list(texts))


def _as_it_is(text: str) -> str:
    return text


def compare_texts(
    reports: int, epsilon: float, theirs: Callable[[Sequence[str], float], Found] = by_pem
) -> TextComparison:
    """Both on the same texts; the ten that half of the people hold are the frequent ones."""
    people = some_texts(reports, LETTERS, np.random.default_rng(int(10 * epsilon)))
    values, counts = np.unique(people, return_counts=True)
    frequent = [str(text) for text in values[np.argsort(-counts)[:ASKED]]]
    ours = min((by_prefixes(people, epsilon) for _ in range(OUR_RUNS)), key=lambda found: found.seconds)
    return TextComparison(epsilon, ours, theirs(people, epsilon), frequent)


def print_texts(compared: Sequence[TextComparison], reports: int) -> None:
    """The table of `hearsay bench peers`."""
    caption = f"{reports:,} texts of {LETTERS} letters, half of the people hold one of ten; devices and search together"
    print_table("frequent texts", COLUMNS, [each.row() for each in compared], caption)
