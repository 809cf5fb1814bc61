"""Asking an estimate: one grammar for the command line, the interface and the headline answers.

The first word of a question is its verb; the catalogue says which class answers it, and docs/reference/queries.md what
each means. Values are raw and unbiased unless a post-processing method is named.
"""

import shlex
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

from hearsay.errors import nearest
from hearsay.mechanisms import catalogue
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import QueryError, UnknownQuery, one_of
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.estimates.simultaneous import critical_value
from hearsay.mechanisms.queries import trend
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.query import Query
from hearsay.mechanisms.queries.view import View

# Control characters, line and paragraph separators, halves of characters: a question is one line. Joiners and spaces
# that do not break are letters of labels.
_CONTROL = frozenset({"Cc", "Zl", "Zp", "Cs"})
REMEMBERED = 256  # questions that were held against a domain


@dataclass(frozen=True, slots=True)
class Question:
    """A question, not yet held against a domain."""

    verb: str
    arguments: tuple[str, ...]

    @property
    def text(self) -> str:
        """The question as one line that parses to itself."""
        return shlex.join((self.verb, *self.arguments))


def grammar() -> str:
    """Every query in one line."""
    kinds = (query.GRAMMAR for name in catalogue.QUERIES for query in catalogue.queries(name))
    return " | ".join((*dict.fromkeys(kinds), trend.GRAMMAR))


def parse(words: Sequence[str]) -> Question:
    """A question from its words."""
    if not words:
        raise UnknownQuery(what="query", expected=f"one of {grammar()}", got="nothing", verb="")
    if any(unicodedata.category(letter) in _CONTROL for word in words for letter in word):
        raise QueryError(what="query", must="hold no control characters")
    verb, *arguments = words
    if verb == trend.VERB:
        raise QueryError(f"{verb} is about all windows of a survey on a server; a snapshot holds one answer")
    if verb not in catalogue.QUERIES:
        near = one_of(catalogue.QUERIES, verb)
        raise UnknownQuery(
            what="query", expected=f"one of {near}; `hearsay query --help` lists them all", got=repr(verb), verb=verb
        )
    kinds = catalogue.queries(verb)
    if not any(_takes(kind, tuple(arguments)) for kind in kinds):
        kinds[0].check_words(arguments)  # refuses them
    return Question(verb, tuple(arguments))


def parse_text(text: str) -> Question:
    """A question from one line; words with spaces are quoted as in a shell."""
    return parse(words_of(text))


def words_of(text: str) -> list[str]:
    """The words of one line."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise QueryError(what="query", expected="words with closed quotes", ending=f": {error}") from None


def answer(
    question: Question,
    estimate: Estimate,
    *,
    minimum_reports: int = 0,
    count: bool = False,
    limit: int | None = None,
    postprocess: str | None = None,
    default: str = "none",
    simultaneous: bool = False,
) -> list[Answer]:
    """The answers, as fractions of the reports or, with `count`, as numbers of reports.

    Nothing is said about fewer than `minimum_reports`; more than `limit` answers are refused. `postprocess` names a
    method and is refused where it is not defined; `default` is the survey's, used where it is defined.
    """
    check_reports(estimate.reports, minimum_reports)
    kind = query_for(question, estimate)
    if count and kind.OWN_UNIT:
        raise QueryError(f"count does not apply to {kind.NAME}, {kind.OWN_UNIT}")
    if simultaneous and not kind.MANY:
        several = ", ".join(_names(lambda query: query.MANY, estimate))
        raise QueryError(f"simultaneous applies to {several}, got {kind.NAME}")
    query = _asked(kind, question.arguments, estimate.domain)
    check_limit(query, estimate.domain, limit)
    method = method_for(postprocess, default, kind, estimate)
    scale = float(estimate.reports) if count else 1.0
    view = View(question.text, method, scale)
    answers = query.answer(estimate, view)
    if simultaneous:
        z = critical_value(query.together(estimate.domain))
        wide = query.answer(estimate.at_level(z), view)
        answers = [narrow.together_with(same, z) for narrow, same in zip(answers, wide, strict=True)]
    return answers if estimate.repeats == 1 else _repeated(answers, kind, estimate.repeats)


def _repeated(answers: list[Answer], kind: type[Query], windows: int) -> list[Answer]:
    """Answers about windows in which devices may have repeated their report, noise and all.

    The errors of such windows add. With n_i reports and standard error s/sqrt(n_i) in window i, N in all, the sum errs
    by at most sum_i (n_i/N) s/sqrt(n_i) <= sqrt(windows) s/sqrt(N): sqrt(windows) times the error of as many reports
    that were all drawn afresh.
    """
    if kind.OWN_UNIT:
        raise QueryError(
            f"{kind.NAME} of several windows is unknown where devices repeat their report (memoised); name one window"
        )
    return [each.widened(sqrt(windows)) for each in answers]


def check_limit(query: Query, domain: Domain, limit: int | None) -> None:
    """Refuse more answers than are given here."""
    if limit is not None and query.answers(domain) > limit:
        raise QueryError(
            f"query {query.NAME} has {query.answers(domain)} answers, at most {limit} are given here; "
            "ask for fewer, or take them from a snapshot's arrays",
            what=f"query {query.NAME}",
            expected=f"at most {limit} answers",
            got=str(query.answers(domain)),
        )


SHARE, OWN = "share", "own"


def unit_of(text: str, estimate: Estimate) -> str:
    """Whether answers to a question are shares of the reports, or in a unit of their own."""
    return OWN if query_for(parse_text(text), estimate).OWN_UNIT else SHARE


def answerable(estimate: Estimate) -> list[type[Query]]:
    """Every kind of query that this estimate answers, in the catalogue's order."""
    suited = (query for _, query in _every() if isinstance(estimate, query.NEEDS))
    return [query for query in dict.fromkeys(suited) if query.unsuited(estimate.domain) is None]


_OTHER_WORDS = {"median": "quantile", "percentile": "quantile", "average": "mean"}  # what people say instead


def suggestion(verb: str, estimate: Estimate) -> UnknownQuery:
    """The error for a verb that there is not: the nearest three that this estimate answers, and how they are asked.

    Without a verb all that it answers.
    """
    if not verb:
        grammars = " | ".join(dict.fromkeys(query.GRAMMAR for query in answerable(estimate)))
        return UnknownQuery(
            what="query", expected=f"one that this survey answers: {grammars}", got="nothing", verb=verb
        )
    forms = {query.NAME: query.GRAMMAR for query in reversed(answerable(estimate))}
    near = [name for name in [_OTHER_WORDS.get(verb.casefold(), "")] if name in forms] or nearest(verb, forms)
    asked = "; ".join(forms[name] for name in near)
    return UnknownQuery(
        what="query", expected=f"one that this survey answers; the nearest: {asked}", got=repr(verb), verb=verb
    )


def headline(estimate: Estimate, postprocess: str = "none") -> list[Answer]:
    """The few answers that every snapshot and every scrape shows, with the survey's post-processing."""
    answers = []
    for text in estimate.headline():
        try:
            answers += answer(parse_text(text), estimate, default=postprocess)
        except QueryError:  # nobody with one of the labels, a strategy that leaves cells open, ...
            continue
    return answers


def check_reports(reports: int, minimum_reports: int) -> None:
    """Refuse to answer from nothing, or from fewer reports than the survey promises to hide in."""
    if reports <= 0:
        raise QueryError("no reports yet", what="reports", expected="at least 1", got="0")
    if reports < minimum_reports:
        raise QueryError(
            f"answers are withheld until there are {minimum_reports} reports, got {reports}",
            what="reports",
            expected=f"at least {minimum_reports}",
            got=str(reports),
        )


def query_for(question: Question, estimate: Estimate) -> type[Query]:
    """The class that answers the verb for this estimate; the error names the mechanisms that can answer it."""
    kinds = catalogue.queries(question.verb)
    kind = _query_for(kinds, type(estimate), estimate.domain)
    if kind is None:
        raise _unanswerable(question.verb, kinds, estimate)
    return kind


@lru_cache(maxsize=REMEMBERED)  # every pass of an estimator asks the same few questions of its surveys
def _query_for(kinds: tuple[type[Query], ...], of: type[Estimate], domain: Domain) -> type[Query] | None:
    return next((kind for kind in kinds if issubclass(of, kind.NEEDS) and kind.unsuited(domain) is None), None)


def _unanswerable(verb: str, kinds: tuple[type[Query], ...], estimate: Estimate) -> QueryError:
    """The error for a question that this estimate cannot answer: what can, or what may be asked instead."""
    domain = estimate.domain
    problems = [problem for kind in kinds if (problem := kind.unsuited(domain)) is not None]
    if len(problems) == len(kinds):
        return QueryError(f"{problems[0]}; {_instead(estimate)}")
    needed = " or ".join(dict.fromkeys(str(vars(kind.NEEDS)["WHAT"]) for kind in kinds))
    able = catalogue.able(tuple(kind.NEEDS for kind in kinds), domain.kind)
    instead = "" if able else f"; {_instead(estimate)}"
    return QueryError(
        f"the survey's mechanism cannot answer {verb}, which needs {needed}; {who_answers(kinds, domain)}{instead}",
        what="mechanism",
        expected=f"one that can answer {verb}" + (f": {one_of(able)}" if able else ""),
    )


def _instead(estimate: Estimate) -> str:
    """What may be asked of this estimate."""
    verbs = ", ".join(dict.fromkeys(query.NAME for query in answerable(estimate)))
    return f"this survey answers {verbs}" + "".join(f" (such as: {question})" for question in estimate.headline()[:1])


def who_answers(kinds: tuple[type[Query], ...], domain: Domain) -> str:
    """Which surveys answer one of these questions: other kinds first, if `auto` finds no mechanism on this domain."""
    needs = tuple(kind.NEEDS for kind in kinds)
    able = catalogue.able(needs, domain.kind)
    here = f"on domains of kind {domain.kind} " + (f"use {one_of(able)}" if able else "no mechanism has that")
    settings = [kind.SETTING for kind in kinds if kind.SETTING and kind.unsuited(domain) is None]
    here += f", with {' or '.join(settings)} in the survey's file" if able and settings else ""
    chosen = [kind for kind, names in catalogue.CANDIDATES.items() if {*names} & {*catalogue.able(needs, kind)}]
    if not chosen or domain.kind in chosen:  # `auto` finds one
        return here
    promises = {catalogue.classes(name)[0].PROMISE for name in able}
    is_other = promises and "pure" not in promises
    other = f", with {' or '.join(sorted(promises))} privacy instead of the usual promise" if is_other else ""
    return f"a survey of kind {' or '.join(chosen)} has it; {here}{other}"


@lru_cache(maxsize=REMEMBERED)
def _asked(kind: type[Query], arguments: tuple[str, ...], domain: Domain) -> Query:
    """A question held against a domain."""
    kind.check_words(arguments)
    return kind.parse(arguments, domain)


def method_for(asked: str | None, default: str, kind: type[Query], estimate: Estimate) -> str:
    """The method for a kind of query: the one asked for, else the survey's where it is defined, else none."""
    if asked is not None:
        _check_method(asked, kind, estimate)
        return asked
    try:
        _check_method(default, kind, estimate)
    except QueryError:
        return "none"
    return default


def _check_method(method: str, kind: type[Query], estimate: Estimate) -> None:
    """Refuse a method that has no meaning for a kind of query on this estimate."""
    if method == "none":
        return
    if method not in catalogue.methods():
        raise QueryError(what="postprocess", expected=f"one of {', '.join(_methods(estimate))}", got=repr(method))
    if method not in kind.METHODS:
        defined = ", ".join(_names(lambda query: method in query.METHODS, estimate))
        raise QueryError(f"postprocess {method} applies to {defined}, got {kind.NAME}")
    reason = estimate.lacks(method)
    if reason is not None:
        raise QueryError(reason)


def _names(chosen: Callable[[type[Query]], bool], estimate: Estimate) -> list[str]:
    """The verbs of the chosen queries that a domain of this kind has; where it has none, those of other domains."""
    here = [name for name, query in _askable(estimate) if chosen(query)]
    return list(dict.fromkeys(here or (name for name, query in _every() if chosen(query))))


def _methods(estimate: Estimate) -> list[str]:
    """The post-processing methods that some query on such a domain has, none first."""
    methods = (method for _, query in _askable(estimate) for method in sorted(query.METHODS))
    return list(dict.fromkeys(("none", *methods)))


def _askable(estimate: Estimate) -> list[tuple[str, type[Query]]]:
    """Every query, with its verb, that a mechanism on a domain of this kind can answer."""
    kind = estimate.domain.kind
    return [(name, query) for name, query in _every() if catalogue.able((query.NEEDS,), kind)]


def _every() -> list[tuple[str, type[Query]]]:
    """Every query of every family, with its verb."""
    return [(name, query) for name in catalogue.QUERIES for query in catalogue.queries(name)]


@lru_cache(maxsize=REMEMBERED)
def _takes(query: type[Query], words: tuple[str, ...]) -> bool:
    try:
        query.check_words(words)
    except QueryError:
        return False
    return True
