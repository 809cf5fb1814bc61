"""What is planned: a question on a domain, the mechanisms that could answer it, and who the users are guessed to be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.base import Mechanism
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import QueryError, SpecificationError, one_of
from hearsay.mechanisms.planning.auto import first_candidate
from hearsay.mechanisms.planning.widths import Guess, Played, Widths
from hearsay.mechanisms.queries.query import Query
from hearsay.mechanisms.questions import Question, answer, parse_text, who_answers

_LISTED = 12  # questions that a refusal names
_EXAMPLE_PEOPLE = 1_000  # of whom it is asked whether a shape has an answer


@dataclass(frozen=True)
class Asked:
    """A question about a survey that is not yet there."""

    domain: Domain
    question: Question
    named: tuple[str, ...] = ()  # mechanisms that are wanted, whatever they promise; none: all of one promise
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of mechanisms that a survey has settled
    shape: str | None = None
    values: Any = None
    own: Mechanism | None = None  # what a survey already has: it gets a row, and its promise is the others'
    _built: dict[tuple[str, float, bool], Mechanism] = field(default_factory=dict, compare=False)
    _widths: dict[tuple[str, float, int, bool], Widths] = field(default_factory=dict, compare=False)
    _answered: dict[str, bool] = field(default_factory=dict, compare=False)  # by shape: whether there is an answer

    @classmethod
    def of(
        cls,
        domain: Domain,
        query: str,
        named: Sequence[str] = (),
        options: Mapping[str, Mapping[str, Any]] | None = None,
        shape: str | None = None,
        values: Any = None,
        own: Mechanism | None = None,
    ) -> "Asked":
        """The checked way to make one."""
        if shape is not None and values is not None:
            raise SpecificationError("shape and values exclude each other; give one of them")
        if shape is not None and shape not in domain.shapes():
            raise SpecificationError(
                what="shape",
                expected=f"one of {', '.join(domain.shapes())} on a domain of kind {domain.kind}",
                got=repr(shape),
            )
        for name in named:
            if name not in catalogue.MECHANISMS:
                raise SpecificationError(
                    what="mechanism", expected=f"one of {one_of(catalogue.names(), name)}", got=repr(name)
                )
        asked = cls(domain, parse_text(query), tuple(named), options or {}, shape, values, own)
        asked.check()
        return asked

    def check(self) -> None:
        """Refuse a question that nobody can answer on this domain, and one that has no meaning there."""
        if not self._suited:
            raise QueryError(
                f"query {self.question.verb} has no answer on a domain of kind {self.domain.kind}; "
                f"ask one of {', '.join(_askable(self.domain))}"
            )
        problems = []
        for query in self._suited:
            try:
                query.check_words(self.question.arguments)
                query.parse(self.question.arguments, self.domain)
                return
            except QueryError as error:
                problems.append(error)
        raise problems[0]

    @cached_property
    def _query_kinds(self) -> tuple[type[Query], ...]:
        return catalogue.queries(self.question.verb)

    @cached_property
    def _suited(self) -> list[type[Query]]:
        """The classes that answer the question on such a domain."""
        able = [query for query in self._query_kinds if catalogue.able((query.NEEDS,), self.domain.kind)]
        return [query for query in able if query.unsuited(self.domain) is None]

    def query_of(self, estimate: type) -> type[Query] | None:
        """The class that answers the question for a kind of estimate."""
        for query in self._query_kinds:
            if issubclass(estimate, query.NEEDS) and query.unsuited(self.domain) is None:
                return query
        return None

    @cached_property
    def guess(self) -> Guess:
        return Guess(self.domain, self.values)

    @cached_property
    def simulated(self) -> Guess:
        """People of the domain's shapes, whatever the values are."""
        return self.guess if self.values is None else Guess(self.domain)

    def names(self) -> list[str]:
        """The mechanisms that get a row: those named, or all that can answer with the domain's kind of promise."""
        if self.named:
            return list(self.named)
        promise = self._promise()
        return [
            name
            for name in catalogue.names()
            if (self.own is not None and name == self.own.ID)
            or any(
                self.domain.kind in listed.form.kinds and self._suits(listed.load(), promise)
                for listed in catalogue.MECHANISMS[name]
            )
        ]

    def left_out(self) -> dict[str, str]:
        """Mechanisms that could answer and get a row only where they are named, with the reason."""
        planned = set(self.names())
        reasons = {}
        for name in catalogue.names():
            for listed in catalogue.MECHANISMS[name]:
                kind = listed.load()
                if name in planned or self.domain.kind not in listed.form.kinds or not self.query_of(kind.ESTIMATE):
                    continue
                reasons[name] = kind.PLANNED_WHEN_NAMED or kind.ERROR_FLOOR or f"it promises {kind.PROMISE} privacy"
        return reasons

    def _promise(self) -> str:
        first = first_candidate(self.domain) if self.own is None else self.own.ID
        return "pure" if first is None else catalogue.classes(first)[0].PROMISE

    def _suits(self, kind: type[Mechanism], promise: str) -> bool:
        left_out = kind.ERROR_FLOOR or kind.PLANNED_WHEN_NAMED or promise != kind.PROMISE
        return not left_out and self.query_of(kind.ESTIMATE) is not None

    def build(self, name: str, epsilon: float, rough: bool = False) -> Mechanism:
        """The mechanism at an epsilon, built once; SpecificationError where it cannot be."""
        if self.own is not None and (name, epsilon, rough) == (self.own.ID, self.own.epsilon, False):
            return self.own  # with levels or tables of its own, if it has some
        key = name, epsilon, rough
        if key not in self._built:
            options = self.options.get(name, {})
            if rough:
                kind = catalogue.fitting(name, self.domain, options)
                options = kind.rough_options(epsilon, self.domain, options)
            self._built[key] = catalogue.create(name, epsilon, self.domain, options)
        return self._built[key]

    def widths(self, name: str, epsilon: float, guess: Guess | None = None, rough: bool = False) -> Widths:
        """The widths under a mechanism at an epsilon; `guess` is another one than the users'.

        Rough ones take a fraction of the work and have nearly the same ratios, to compare shapes and approach a target.
        """
        guess = guess or self.guess
        key = name, epsilon, id(guess), rough
        if key not in self._widths:
            built = self.build(name, epsilon, rough)
            self._widths[key] = self.widths_of(Played(built, guess, rough=rough))
        return self._widths[key]

    def widths_of(self, played: Played) -> Widths:
        """The widths of the question in surveys that are played."""
        mechanism, name = played.mechanism, played.mechanism.ID
        query = self.query_of(type(mechanism).ESTIMATE)
        if query is None:
            raise QueryError(f"{name} cannot answer {self.question.verb}; {self.who_answers()}")
        in_ranks = query.VARIES and self.in_ranks
        varies = (query.VARIES and not in_ranks) or mechanism.PLANNED_FROM_SURVEYS
        return Widths(played, self.question, varies, in_ranks)

    def who_answers(self) -> str:
        """Which surveys answer the question, where those that were tried do not."""
        return who_answers(self._query_kinds, self.domain)

    @property
    def is_share(self) -> bool:
        """Whether the answer is a share of the users, whoever gives it; then so is half its interval."""
        return not any(query.OWN_UNIT for query in self._suited)

    @property
    def in_ranks(self) -> bool:
        """Whether a quantile is planned in ranks: the share of users between the answer and the truth."""
        return self.ranked and self.shape is None and self.values is None

    @cached_property
    def ranked(self) -> bool:
        """Whether the answer is a quantile of cells, which has an error in ranks that no shape changes."""
        return any(query.RANKED for query in self._suited)

    def shapes(self, mechanism: Mechanism) -> list[str]:
        """The shapes that are compared for the worst: those on which there is an answer. There is no correlation where
        everybody holds the same value, and no mean of a key that nobody holds."""
        every = list(self.domain.shapes())
        return [shape for shape in every if self._has_answer(shape, mechanism)] or every

    def _has_answer(self, shape: str, mechanism: Mechanism) -> bool:
        if shape not in self._answered:
            try:
                answers = answer(self.question, mechanism.exact(self.simulated.people(shape, _EXAMPLE_PEOPLE)))
            except QueryError:
                answers = []
            self._answered[shape] = any(each.value is not None for each in answers)
        return self._answered[shape]


def _askable(domain: Domain) -> list[str]:
    """Every question that some mechanism on such a domain answers, as it is written."""
    written = dict.fromkeys(
        query.GRAMMAR
        for verb in catalogue.QUERIES
        for query in catalogue.queries(verb)
        if query.unsuited(domain) is None and catalogue.able((query.NEEDS,), domain.kind)
    )
    return list(written)[:_LISTED]
