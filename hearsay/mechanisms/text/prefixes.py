"""Frequent texts without a dictionary: every device reports the hash of one prefix of its text, or of the whole text.

Device    Draw one of G + 1 questions uniformly, independently of the text; a code has G bytes. Question l = 1..G asks
          for the bucket of the code's first l bytes under the public hash of level l, with K buckets. Question 0 asks
          for the bucket of the whole code, with K0 = 4K buckets. Report the bucket by `olh` with all of epsilon.
Privacy   Epsilon: the question is independent of the text, and a device reports once. Devices get no candidates.
Search    Level by level (`search`), from questions 1..G only.
Estimate  The share of any text, from question 0 only, so independently of the search: f = (x - 1/K0) K0/(K0-1) with
          x the estimated share of its bucket.
Variance  n Var = (G+1)(V + f(1-f)) - f(1-f) + n S/K0. V is the oracle's n Var, the terms f(1-f) are due to asking
          only a sample of the devices, and S, the sum of the other texts' squared shares, is due to collisions.

Prefixes as in PEM (Wang, Li and Jha 2021) and TreeHist (Bassily et al. 2017), in one shot, with intervals.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import Mechanism, State
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.estimate import Z95, Floats
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.guarantees.promises import Guarantee, PureLDP
from hearsay.mechanisms.layout import Layout, Reports, Scalar, Variant, by_parts, smallest_unsigned
from hearsay.mechanisms.options import Option, integer
from hearsay.mechanisms.text.bucket_oracle import BucketOracle
from hearsay.mechanisms.text.code import Octets
from hearsay.mechanisms.text.detection import smallest_detected_share
from hearsay.mechanisms.text.domain import Text
from hearsay.mechanisms.text.estimate import ExactTexts, TextEstimate
from hearsay.mechanisms.text.hashing import LevelHash
from hearsay.mechanisms.text.search import Level, frequent_codes
from hearsay.mechanisms.text.shares import WholeTexts

WHOLE = 4  # K0/K: whole texts have more buckets than prefixes, since their collisions are errors of the answers
_EXAMPLE_REPORTS = (10_000, 1_000_000)  # for which `survey show` predicts errors
_LISTED = 15  # texts for which `channel` is computed; more would only take longer
_TABLES = tuple(1 << bits for bits in range(4, 21))


def _check_table(value: Any) -> Any:
    if type(value) is not int or value not in _TABLES:
        raise SpecificationError(
            what="options.table", expected=f"a power of two in {_TABLES[0]}..{_TABLES[-1]}", got=repr(value)
        )
    return value


@dataclass(frozen=True)
class Prefixes(Mechanism):
    """G + 1 questions, one oracle for those about prefixes and one for whole texts."""

    domain: Text

    ESTIMATE: ClassVar[type[TextEstimate]] = TextEstimate
    ID = "prefixes"
    SUMMARY = "frequent texts that nobody listed, and the share of any text"
    OPTIONS = (
        integer("texts", 32, 1, 1024, "how many frequent texts are looked for"),
        Option("table", 65_536, _check_table, "buckets of a level, a power of two; whole texts have 4 times as many"),
        integer("seed", 0, 0, (1 << 63) - 1, "chooses the public hash functions"),
    )
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "epsilon": 1.0,
            "domain": {"kind": "text", "length": 2, "alphabet": "ab"},
            "options": {"texts": 4, "table": 16},
        },
        {
            "epsilon": 2.0,
            "domain": {"kind": "text", "length": 3, "overlong": "cut"},
            "options": {"texts": 2, "table": 64},
        },
        {
            "epsilon": 8.0,
            "domain": {"kind": "text", "length": 4, "alphabet": ["a", "b", "ab", "c"]},
            "options": {"texts": 4, "table": 128, "seed": 7},
        },
    )

    @property
    def questions(self) -> int:
        """G + 1."""
        return self.domain.code.size + 1

    @cached_property
    def hashes(self) -> tuple[LevelHash, ...]:
        """The hash of question 0, which is of the whole code, then those of questions 1..G."""
        size, table, seed = self.domain.code.size, int(self.options["table"]), int(self.options["seed"])
        levels = (LevelHash(seed, level, level, table) for level in range(1, size + 1))
        return LevelHash(seed, 0, size, WHOLE * table), *levels

    @cached_property
    def oracles(self) -> tuple[BucketOracle, BucketOracle]:
        """The oracle of question 0, and that of questions 1..G."""
        whole, level = (BucketOracle.best(factor * self.options["table"], self.epsilon) for factor in (WHOLE, 1))
        return whole, level

    def oracle(self, question: int) -> BucketOracle:
        return self.oracles[question > 0]

    @cached_property
    def _kinds(self) -> tuple[Variant, Variant]:
        """The layouts of a report without its question: of question 0, and of questions 1..G."""
        whole, level = (oracle.layout.single for oracle in self.oracles)
        return whole, level

    @cached_property
    def _starts(self) -> dict[int, int]:
        """The first symbol of every question: those of questions 1..G come first, those of question 0 last."""
        of_level = self._kinds[1].alphabet
        levels = {question: (question - 1) * of_level for question in range(1, self.questions)}
        return {**levels, 0: (self.questions - 1) * of_level}

    @cached_property
    def layout(self) -> Layout:
        symbols = self._starts[0] + self._kinds[0].alphabet
        return Layout((Variant((Scalar("symbol", symbols),)),), same_length=True)

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {
            f"{question}/{name}": shape
            for question in range(self.questions)
            for name, shape in self.oracle(question).arrays.items()
        }

    @property
    def guarantee(self) -> Guarantee:
        return PureLDP(self.epsilon)

    @cached_property
    def spent_epsilon(self) -> float:
        return max(oracle.spent_epsilon for oracle in self.oracles)

    def perturb(self, values: Any, random: Random) -> Reports:
        return by_parts(lambda codes: {"symbol": self._symbols(codes, random)}, self.domain.check(values))

    def _symbols(self, codes: Octets, random: Random) -> NDArray[Any]:
        question = random.narrow_below(self.questions, len(codes))
        bucket, start = np.empty(len(codes), dtype=np.int64), np.empty(len(codes), dtype=np.uint64)
        for asked, rows in _grouped(question, self.questions):
            bucket[rows], start[rows] = self.hashes[asked](codes[rows]), self._starts[asked]
        for kind, oracle, chosen in zip(self._kinds, self.oracles, (question == 0, question > 0), strict=True):
            if chosen.any():
                start[chosen] += kind.pack(oracle.perturb(bucket[chosen], random))
        return start.astype(smallest_unsigned(self.layout.outcomes))

    def fold(self, state: State, reports: Reports) -> State:
        symbols = reports["symbol"]
        # Questions 1..G come first and have equally many symbols; all symbols after them are of question 0.
        of_level = symbols.dtype.type(self._kinds[1].alphabet)
        number = np.minimum(symbols // of_level, symbols.dtype.type(self.questions - 1))
        number = number.astype(smallest_unsigned(self.questions))
        for index, rows in _grouped(number, self.questions):
            question = (index + 1) % self.questions
            own = symbols[rows] - symbols.dtype.type(self._starts[question])
            kind, oracle = self._kinds[question > 0], self.oracle(question)
            oracle.fold(self.part(state, question), kind.unpack(own.astype(np.uint64)))
        return state

    def part(self, state: State, question: int) -> State:
        """The state of one question's oracle: the same arrays under the oracle's own names."""
        return {name: state[f"{question}/{name}"] for name in self.oracle(question).arrays}

    def reports(self, state: State) -> int:
        return sum(int(state[f"{question}/n"][0]) for question in range(self.questions))

    def estimate(self, state: State) -> TextEstimate:
        parts = [self.part(state, question) for question in range(self.questions)]
        answers = zip(map(self.oracle, range(self.questions)), parts, strict=True)
        return self.estimate_from((oracle.shares(part), oracle.reports(part)) for oracle, part in answers)

    def estimate_from(self, answers: Iterable[tuple[Floats, int]]) -> TextEstimate:
        """The estimate, from the shares of all buckets and the number of reports of questions 0, 1, ..., G."""
        (buckets, asked), *others = answers
        whole = WholeTexts.of(
            self.oracles[0], buckets, asked, self.hashes[0], asked + sum(count for _, count in others)
        )
        levels = [Level(hashed, *answer) for hashed, answer in zip(self.hashes[1:], others, strict=True)]
        codes = frequent_codes(self.domain.code, levels, self.oracles[1], int(self.options["texts"]))
        return TextEstimate.of(self.domain, whole, codes)

    def exact(self, values: Any) -> ExactTexts:
        return ExactTexts.of(self.domain, self.domain.check(values))

    def listed_values(self) -> Octets:
        """Some texts of the domain, or all if there are few, and the code of *outside*."""
        words = self.domain.some_words()[:_LISTED]
        return np.concatenate([self.domain.code.encode(words), self.domain.code.outside[None]])

    def channel(self) -> NDArray[np.float64]:
        """P(report | text), one row for each of the listed values."""
        codes = self.listed_values()
        asked = (*range(1, self.questions), 0)
        parts = [self.oracle(question).channel_of(self.hashes[question](codes)) for question in asked]
        return np.concatenate(parts, axis=1) / self.questions

    @property
    def rare_variance(self) -> float:
        """n Var of the share of a rare text: (G+1) V."""
        return self.questions * float(self.oracles[0].moments.variance(np.zeros(1))[0])

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        return {"point": sqrt(self.rare_variance / max(reports, 1))}

    def smallest_detected_share(self, reports: int) -> float | None:
        """The smallest share of a text that is detected with 95% probability; None if no text would be."""
        slope = float(np.diff(self.oracles[0].moments.variance(np.array([0.0, 1.0])))[0])
        return smallest_detected_share(
            self.rare_variance / self.questions, slope, self.questions, int(self.options["texts"]), reports
        )

    def planned_width(self, verb: str, users: int) -> float | None:
        """For `top` and `told` the width of a rare text's interval, since simulating the search takes long."""
        return Z95 * self.predicted_stderr(users)["point"] if verb in ("top", "told") else None

    def planned_detection(self, verb: str, users: int) -> float | None:
        """The smallest share that is detected."""
        return self.smallest_detected_share(users)

    def facts(self) -> dict[str, list[str]]:
        shares = map(self.smallest_detected_share, _EXAMPLE_REPORTS)
        lines = [
            f"none at {reports:,} reports" if share is None else f"{share:.2%} of the devices at {reports:,} reports"
            for reports, share in zip(_EXAMPLE_REPORTS, shares, strict=True)
        ]
        return {"smallest share told with 95% probability": [", ".join(lines)]}

    def advice(self, postprocess: str = "none") -> list[str]:
        if self.domain.alphabet is not None:
            return []
        letters = replace(self, domain=replace(self.domain, alphabet=tuple("abcdefghijklmnopqrstuvwxyz")))
        many = _EXAMPLE_REPORTS[-1]
        shares = [mechanism.smallest_detected_share(many) for mechanism in (self, letters)]
        smallest = [f"{share:.2%}" if share is not None else "none" for share in shares]
        return [
            "Declare domain.alphabet where the texts allow it: with 26 letters devices answer one of "
            f"{letters.questions} questions instead of {self.questions}, and at {many:,} reports the "
            f"smallest share of the devices that is detected is {smallest[1]} instead of {smallest[0]}. "
            "Symbols of several characters shorten the texts further."
        ]


def _grouped(numbers: NDArray[Any], bound: int) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Every number that occurs, with the indices at which it does; one sort for all numbers."""
    order = np.argsort(numbers, kind="stable")  # a radix sort, since the integers are narrow
    ends = np.cumsum(np.bincount(numbers, minlength=bound))[:bound].tolist()
    for number, (start, end) in enumerate(pairwise([0, *ends])):
        if start < end:
            yield number, order[start:end]
