"""What every kind of question says of itself: parser, command line, HTTP, documentation and refusals read it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.difference import widened
from hearsay.mechanisms.queries.example import Example
from hearsay.mechanisms.queries.view import View


def within(mean: float | None, least: float, most: float) -> float:
    """The largest variance of numbers in least..most with this mean, (most - mean)(mean - least); of a share f(1-f)."""
    return 0.0 if mean is None else max((most - mean) * (mean - least), 0.0)


class Query(ABC):
    """A question that was held against a domain. One class for each verb.

    Two families may share a verb: the class is taken whose `NEEDS` the estimate has.
    """

    NAME: ClassVar[str]
    GRAMMAR: ClassVar[str]
    HELP: ClassVar[str]
    NEEDS: ClassVar[type]  # a capability, which says in WHAT what it is
    SETTING: ClassVar[str] = ""  # what the survey's file must say so that its mechanism has the capability
    WORDS: ClassVar[tuple[int, int | None]] = (0, 0)  # how many arguments at least and at most
    OWN_UNIT: ClassVar[str] = ""  # why numbers of reports make no sense; empty: the values are shares
    MANY: ClassVar[bool] = False  # an answer per cell: intervals that hold together make sense
    METHODS: ClassVar[frozenset[str]] = frozenset()  # post-processing that is defined
    EXAMPLES: ClassVar[tuple[Example, ...]] = ()  # answers by hand: `hearsay.checks` runs every one of them
    WITHOUT_INTERVAL: ClassVar[Mapping[str | None, str]] = {}  # items of answers that have no interval: why not
    WIDER: ClassVar[str] = ""  # why its intervals and standard errors are larger than its errors
    PREDICTED: ClassVar[str] = ""  # which of a mechanism's predicted errors is about it; empty: none
    RANKED: ClassVar[bool] = False  # a quantile, whose error is also known as a share of the reports
    VARIES: ClassVar[bool] = False  # its interval's width differs much between surveys: planned from drawn ones

    @classmethod
    def unsuited(cls, domain: Domain) -> str | None:
        """Why the question has no meaning on a domain, whatever the mechanism; None: it has one."""
        return None

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        """The question in the domain's own units; QueryError where it has no meaning there."""
        return cls()  # as those ask that take no argument

    def answers(self, domain: Domain) -> int:
        """How many answers there will be."""
        return 1

    def together(self, domain: Domain) -> int:
        """How many intervals hold together where that is asked: all cells, though a few may be shown."""
        return max(domain.size, self.answers(domain))

    @abstractmethod
    def answer(self, estimate: Any, view: View) -> list[Answer]:
        """The answers, in domain order unless the question asks for another one."""

    @classmethod
    def lacks_interval(cls, answer: Answer) -> bool:
        """Whether it is stated why such an answer has no interval."""
        return answer.cell is None and any(item == answer.item for item in cls.WITHOUT_INTERVAL)

    def settled(self, one: Any, other: Any) -> "Query":
        """The question that both estimates answer with the same cells, where each alone would choose its own."""
        return self

    def sampling(self, estimate: Any, answers: Sequence[Answer]) -> Sequence[float] | None:
        """n Var of each raw answer if the devices were drawn from a population and told the truth; None: not known.

        f(1-f) of a share f; a query in a unit of its own says it itself.
        """
        return None if self.OWN_UNIT else [within(answer.value, 0.0, 1.0) for answer in answers]

    def population(self, estimate: Any, view: View) -> list[Answer]:
        """The raw answers with errors about the population that the devices were drawn from; QueryError: none known."""
        answers = self.answer(estimate, view)
        spread = self.sampling(estimate, answers)
        if spread is None:
            raise QueryError(
                f"changes of {self.NAME} have no known error; ask for changes of shares, quantiles or means"
            )
        reports = max(estimate.reports, 1)
        return [widened(answer, each / reports) for answer, each in zip(answers, spread, strict=True)]

    @classmethod
    def check_words(cls, words: Sequence[str]) -> None:
        """Refuse too few or too many arguments."""
        least, most = cls.WORDS
        if most == 0 and words:
            raise QueryError(f"query {cls.NAME} takes no argument, got {len(words)}")
        if least == most == 1 and len(words) != 1:
            raise QueryError(f"query {cls.NAME} takes one argument, got {len(words)}")
        if len(words) < least:
            got = len(words) or "none"
            needed = "an argument" if least == 1 else f"{least} arguments"
            raise QueryError(f"query {cls.NAME} needs {needed}, got {got}; it is asked as: {cls.GRAMMAR}")
        if most is not None and len(words) > most:
            raise QueryError(f"query {cls.NAME} takes at most {most} arguments, got {len(words)}")
