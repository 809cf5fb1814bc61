"""The base class of every mechanism: device, worker and estimator side in one file.

`perturb` runs on a device, `fold` in a worker, `estimate` in the estimator; they share their constants because they
share an object, and `roles` says what each role sees of it. The state is a fixed set of named int64 arrays that add:
folding is free of order, and merging is `+`. The arrays are named for what they hold, alone or as `level/name`:

sum, observation   sums of signs, -1 or 1 for each report that counts. With `count` of the same shape beside it a sum is
                   at most so far from 0, and even where the count is even. Sums of other numbers stand beside `n`.
ones               reports with a bit set: at most the reports beside it, in `n`, `reports` or `count`
all others         how many reports: never below 0
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.cells import Cells, categorical
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import ImpossibleCounts, NotPortable, SpecificationError
from hearsay.mechanisms.estimates.cells import CellEstimate, ExactCells
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.estimates.postprocess import NEEDED_FOR_SMOOTH, SMOOTH
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.guarantees.promises import Guarantee
from hearsay.mechanisms.layout import Layout, Reports
from hearsay.mechanisms.options import Option, complete
from hearsay.mechanisms.portable import Node

Counters = NDArray[np.int64]
State = dict[str, Counters]
SIGNED = ("sum", "observation")
TOTALS = ("n", "reports", "count")
Streams = Callable[[str], Random]
PUBLIC, ANSWER = "public", "answer"  # texts of the streams; the bucket's number follows the answer
Values = Any  # what the domain's `check` takes: an array of cells, rows, sets of pairs
EPSILON_LIMIT = 50.0
EPSILON_LEAST = 1e-9
_FLOAT_SLACK = 1e-12  # dividing by a distance rounds; nothing else may be above the claim


@dataclass(frozen=True)
class Mechanism(ABC):
    """One way to report privately: epsilon, domain and complete options determine everything else."""

    epsilon: float
    domain: Domain
    options: Mapping[str, Any]

    ID: ClassVar[str]
    SUMMARY: ClassVar[str]
    OPTIONS: ClassVar[tuple[Option, ...]] = ()
    # Why an error remains that more reports do not remove; empty but for published methods kept for comparison.
    ERROR_FLOOR: ClassVar[str] = ""
    UNSPENT: ClassVar[str] = ""  # why a published method spends less than epsilon
    # What takes long before a survey of a large domain is accepted, for people who wait; empty where nothing does.
    LONG_CHECK: ClassVar[str] = ""
    # Under which name `survey show --json` has the lines of `picture()`.
    PICTURE: ClassVar[str] = "picture"
    # The kind of its guarantee with default options, known without building it, which takes some of them seconds.
    PROMISE: ClassVar[str] = "pure"
    # Why the planner has no row for it unless it is named; an error floor is such a reason too. Empty for most.
    PLANNED_WHEN_NAMED: ClassVar[str] = ""
    # A report tells about one of many parts, drawn at random: much of the error stays however large epsilon is.
    SAMPLES: ClassVar[bool] = False
    # The planner draws whole surveys for every question: a later round asks about what an earlier one found, or the
    # state is too sparse to be divided.
    PLANNED_FROM_SURVEYS: ClassVar[bool] = False
    # Options that a survey file writes out, solved for its own epsilon: for another one they are solved anew.
    SOLVED: ClassVar[tuple[str, ...]] = ()
    # What its estimate is, and so what can be asked, is known before any report.
    ESTIMATE: ClassVar[type[Estimate]]
    # Small survey tables (without `mechanism`) that show it at work; the shared tests run on every one of them.
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]]

    @property
    def rounds(self) -> int:
        """How many rounds there may be at most; a later one asks what earlier ones answered."""
        return 1

    def in_round(self, history: Sequence[Mapping[str, Any]]) -> Self:
        """The mechanism as it stands in round `len(history) + 1`: `history[i]` is what `next_round` answered when round
        `i + 1` was over. The state's arrays, and with them all states, are the same in every round."""
        return self

    @property
    def one_round_each(self) -> bool:
        """Whether a device answers one round only, with all of epsilon; False: epsilon covers all rounds together."""
        return True

    def hand_out(self, parameters: Mapping[str, Any], random: Random) -> dict[str, Any]:
        """What one device gets of a round's public parameters: all of them, or what is drawn from them for it."""
        return dict(parameters)

    def next_round(self, state: State) -> dict[str, Any] | None:
        """Public parameters of the next round, from the sum of all states so far; None: this was the last one.

        Asked of the mechanism in the round that is over. Plain JSON, and the same again for the same state.
        """
        return None

    @classmethod
    def create(cls, epsilon: float, domain: Domain, options: Mapping[str, Any]) -> Self:
        """The checked way to make one: completes the options and refuses what does not fit."""
        if isinstance(epsilon, str):
            raise SpecificationError(
                what="epsilon", expected="a number, not a text: write it without quotes", got=repr(epsilon)
            )
        if not isinstance(epsilon, int | float) or isinstance(epsilon, bool) or not isfinite(epsilon):
            raise SpecificationError(what="epsilon", expected="finite and > 0", got=repr(epsilon))
        if not 0 < epsilon <= EPSILON_LIMIT:
            raise SpecificationError(what="epsilon", expected=f"> 0 and at most {EPSILON_LIMIT:g}", got=repr(epsilon))
        if epsilon < EPSILON_LEAST:
            raise SpecificationError(
                what="epsilon",
                expected=f"at least {EPSILON_LEAST:g}: below it no answer has any value",
                got=repr(epsilon),
            )
        made = cls(float(epsilon), domain, complete(cls.OPTIONS, options))
        made.check()
        made.refuse_overspending()
        return made

    def check(self) -> None:  # noqa: B027 - most mechanisms have nothing to add
        """Refuse combinations of epsilon, domain and options that cannot work."""

    def refuse_overspending(self) -> None:
        """Refuse a mechanism whose coins, as they are really flipped, spend more than epsilon."""
        if self.spent_epsilon > self.epsilon * (1 + _FLOAT_SLACK):
            raise SpecificationError(
                f"mechanism {self.ID} would spend epsilon {self.spent_epsilon!r} where {self.epsilon!r} is claimed: "
                "its probabilities are wrong, report it to its author"
            )

    def canonical_options(self) -> dict[str, Any]:
        """The options with every choice made, as the canonical survey lists them."""
        return {name: value for name, value in self.options.items() if value is not None}

    def lasting_options(self) -> dict[str, Any]:
        """The options for any epsilon: without those that were solved for this one."""
        return {name: value for name, value in self.options.items() if value is not None and name not in self.SOLVED}

    def choices(self) -> str:
        """In words, what the mechanism chose by itself and why; empty where it had no choice."""
        return ""

    def advice(self, postprocess: str = "none") -> list[str]:
        """Sentences for whoever designs the survey; `postprocess` is the method that the survey asks for."""
        return []

    def lacks(self, method: str) -> str | None:
        """Why a survey with this mechanism cannot ask for a post-processing method; None: it can."""
        return NEEDED_FOR_SMOOTH if method == SMOOTH else None

    def facts(self) -> dict[str, list[str]]:
        """What `survey show` says of the mechanism itself, by name; lines under `warnings` are shown as warnings."""
        return {}

    def picture(self) -> list[str]:
        """The mechanism as lines of text, such as a heat map; none where there is nothing to see."""
        return []

    def asks_the_same(self, other: "Mechanism") -> bool:
        """Whether a survey file with this mechanism may stand for a registered survey with `other`.

        True if they are equal, or if `other` differs only in what the file leaves open.
        """
        return self == other

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """What a report consists of."""

    @property
    @abstractmethod
    def arrays(self) -> dict[str, tuple[int, ...]]:
        """The state's arrays: name (`array`, or `level/array`) and shape."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is promised to a device."""

    @property
    def spent_epsilon(self) -> float:
        """The epsilon (per unit of distance, for a metric) of the coins really flipped; never above `epsilon`."""
        return self.epsilon

    @abstractmethod
    def perturb(self, values: Values, random: Random) -> Reports:
        """Device: private reports of cell indices, one each."""

    def portable(self) -> Node:
        """How a device in any language draws a report, as data; NotPortable where the nodes cannot say it."""
        raise NotPortable(f"{self.ID} draws what no form for other languages expresses; use Python's Device")

    @property
    def memoised_buckets(self) -> int | None:
        """g, where a report is a public part drawn without looking at the value and an answer about one of g buckets;
        None: it is not, and the mechanism cannot be memoised."""
        return None

    def perturb_memoised(self, values: Values, stream: Streams) -> Reports:
        """Device: the report of one value, its public part drawn once for life and its answer once per bucket.

        `stream` gives the same draws again for the same text, and others for another device. Only where
        `memoised_buckets` is a number.
        """
        raise SpecificationError(f"mechanism {self.ID} cannot be memoised: its reports have no public part")

    def empty(self) -> State:
        """A state without reports."""
        return {name: np.zeros(shape, dtype=np.int64) for name, shape in self.arrays.items()}

    @abstractmethod
    def fold(self, state: State, reports: Reports) -> State:
        """Worker: add valid reports to the state, in place; integer additions only."""

    def valid(self, reports: Reports) -> NDArray[np.bool_] | None:
        """Which reports could have come from a device, beyond what the layout's bounds say; None: all of them."""
        return None

    def check_state(self, state: State) -> None:
        """Refuse counts that no set of reports produces: damaged, or made up. ImpossibleCounts says which."""
        reason = _impossible(state, self.reports(state))
        if reason is not None:
            raise ImpossibleCounts(f"the counts are impossible, no set of reports produces them: {reason}")

    @abstractmethod
    def reports(self, state: State) -> int:
        """How many reports the state holds."""

    @abstractmethod
    def estimate(self, state: State) -> Estimate:
        """Estimator: what the reports say, with standard errors, ready to be queried."""

    @abstractmethod
    def exact(self, values: Values) -> Estimate:
        """What the same estimate would be without noise: the truth that answers are held against."""

    @abstractmethod
    def channel(self) -> NDArray[np.float64]:
        """P(report | value) for every cell (rows) and every report of `layout.enumerate()` (columns).

        Computed from the thresholds that `perturb` uses. For small domains only.
        """

    def listed_values(self) -> Any | None:
        """The values that the channel's rows stand for, where these are not the domain's cells; None: not listed."""
        return None

    @classmethod
    def rough_options(cls, epsilon: float, domain: Domain, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Options that are soon built, with widths in nearly the same ratio whatever epsilon and shape; most need none.

        The planner compares shapes and comes near a target with them, and predicts with the options as they are.
        """
        return options

    def planned_width(self, verb: str, users: int) -> float | None:
        """The half width of a question's 95% interval, where a formula is exact enough; None: it is simulated."""
        return None

    def planned_detection(self, verb: str, users: int) -> float | None:
        """What so many users detect, where that is something else than a difference between two halves of them."""
        return None

    def report_spans(self) -> dict[str, float]:
        """By kind of query, the most by which two reports can differ in what they add to n times the answer.

        `range` is that of the middle half of the domain. A kind that is missing is not known.
        """
        return {}

    @property
    def raised_norms(self) -> float:
        """What false reports gain where answers are divided by counts that they raise too; 1: by all reports."""
        return 1.0

    def warnings(self, state: State) -> list[str]:
        """What looks wrong with the reports themselves, in sentences; nothing where all could be honest."""
        return []

    @abstractmethod
    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """What a user may expect with so many reports, by kind of query: `point`, and `range` where it can.

        `Domain.in_units` makes it the error of the answer: mechanisms of keys predict `mean` on the scale -1..1.
        """


@dataclass(frozen=True)
class CellMechanism(Mechanism):
    """A mechanism about cells: its values are cell indices, and its estimate has a share for every cell."""

    domain: Cells

    ESTIMATE: ClassVar[type[CellEstimate]] = CellEstimate

    @classmethod
    def over(cls, size: int, epsilon: float, **options: Any) -> Self:
        """The mechanism on plain cells 0..size-1, as a part of another one."""
        return cls.create(epsilon, categorical(size), options)

    @abstractmethod
    def estimate(self, state: State) -> CellEstimate: ...

    def exact(self, values: Values) -> ExactCells:
        return ExactCells.of(self.domain, values)


def merge(into: State, other: State) -> State:
    """Add one state to another, in place."""
    for name, array in other.items():
        into[name] += array
    return into


def _impossible(state: State, reports: int) -> str | None:
    """Why no set of so many reports produces these counts; None: some may."""
    levels: dict[str, dict[str, Counters]] = {}
    for path, array in state.items():
        level, _, name = path.rpartition("/")
        levels.setdefault(level, {})[name] = array
        if name not in SIGNED and array.size and int(array.min()) < 0:
            return f"array {path} has counts below 0"
    if reports < 0:
        return "there are fewer than 0 reports"
    for level, arrays in levels.items():
        where = f" of level {level}" if level else ""
        count = arrays.get("count")
        if "sum" in arrays and count is not None and count.shape == arrays["sum"].shape:
            if (np.abs(arrays["sum"]) > count).any():
                return f"sums{where} are further from 0 than reports were counted"
            if ((arrays["sum"] ^ count) & 1).any():
                return f"sums{where} do not fit the number of reports counted"
        total = next((arrays[name] for name in TOTALS if name in arrays), np.array(reports))
        for name in ("ones", "observation"):
            if name in arrays and _exceeds(arrays[name], total):
                return f"array {name}{where} has more than there are reports"
    return None


def _exceeds(array: Counters, total: Counters) -> Any:
    return (np.abs(array) > (total if total.shape == array.shape else total.sum())).any()
