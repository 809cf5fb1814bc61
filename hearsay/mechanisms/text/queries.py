"""Queries of surveys of texts."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.estimates.estimate import Measured
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.example import Example
from hearsay.mechanisms.queries.query import Query
from hearsay.mechanisms.queries.stretches import whole_number
from hearsay.mechanisms.queries.view import View
from hearsay.mechanisms.text.code import Octets
from hearsay.mechanisms.text.domain import Text

_ALPHABET = {"kind": "text", "length": 2, "alphabet": "ab"}
_WORDS = {"mechanism": "prefixes", "epsilon": 6.0, "domain": _ALPHABET, "options": {"texts": 4, "table": 64}}
_DEVICES = ["ab"] * 4 + ["b"] * 3 + ["abba"]  # the last one is too long


class Texts(ABC):
    """The detected texts, and the share of any text."""

    WHAT: ClassVar[str] = "texts"

    @property
    @abstractmethod
    def detected(self) -> Octets:
        """The codes of the detected texts, the most frequent first."""

    @abstractmethod
    def shares(self, codes: Octets) -> Measured:
        """The shares of the texts with these codes, detected or not."""


class TextQuery(Query):
    """A query that only surveys of texts answer."""

    NEEDS = Texts

    @classmethod
    def unsuited(cls, domain: Domain) -> str | None:
        return None if isinstance(domain, Text) else f"query {cls.NAME} needs texts, this survey is {domain.kind}"


def _show(estimate: Any, view: View, codes: Octets) -> list[Answer]:
    return view.show(estimate.shares(codes), ((estimate.domain.code.decode(code), None) for code in codes))


@dataclass(frozen=True)
class TextPoint(TextQuery):
    """The share of one text, frequent or not."""

    code: bytes

    VARIES = True
    NAME, GRAMMAR = "point", "point TEXT"
    HELP = "on texts: the share of any text, whether it is frequent or not"
    WORDS: ClassVar[tuple[int, int | None]] = (1, 1)
    EXAMPLES = (Example(_WORDS, _DEVICES, "point ab", [1 / 2], ["ab"]),)

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        return cls(domain.locate(words[0]).tobytes())

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return _show(estimate, view, np.frombuffer(self.code, dtype=np.uint8)[None])


@dataclass(frozen=True)
class TopTexts(TextQuery):
    """The most frequent detected texts."""

    wanted: int

    NAME, GRAMMAR = "top", "top K"
    HELP = "on texts: the K most frequent ones, of those whose share is significantly above 0"
    WORDS: ClassVar[tuple[int, int | None]] = (1, 1)
    EXAMPLES = (Example(_WORDS, _DEVICES, "top 2", [1 / 2, 3 / 8], ["ab", "b"]),)

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        return cls(whole_number(words[0], cls.NAME))

    def answers(self, domain: Domain) -> int:
        return self.wanted

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return _show(estimate, view, estimate.detected[: self.wanted])

    def settled(self, one: Any, other: Any) -> Query:
        codes = np.unique(np.concatenate([one.detected, other.detected]), axis=0)
        both = one.shares(codes).value + other.shares(codes).value
        return ChosenTexts(tuple(code.tobytes() for code in codes[np.argsort(-both, kind="stable")[: self.wanted]]))


@dataclass(frozen=True)
class ChosenTexts(TextQuery):
    """The shares of given texts: what `top` becomes when two estimates are compared. It has no verb of its own."""

    codes: tuple[bytes, ...]

    NAME, GRAMMAR, HELP = TopTexts.NAME, TopTexts.GRAMMAR, TopTexts.HELP

    def answers(self, domain: Domain) -> int:
        return len(self.codes)

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        if not self.codes:
            return []
        return _show(estimate, view, np.frombuffer(b"".join(self.codes), dtype=np.uint8).reshape(len(self.codes), -1))


@dataclass(frozen=True)
class Told(TextQuery):
    """How many texts are detected."""

    NAME, GRAMMAR = "told", "told"
    HELP = "on texts: how many are detected, with a share significantly above 0; `top` names them"
    OWN_UNIT = "which is a number of texts"
    WITHOUT_INTERVAL = {None: "it counts what was found, and estimates nothing"}
    EXAMPLES = (Example(_WORDS, _DEVICES, "told", [2.0]),)

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return [Answer(view.text, float(len(estimate.detected)), None)]


@dataclass(frozen=True)
class Outside(TextQuery):
    """The share of devices whose text the domain does not allow."""

    VARIES = True
    NAME, GRAMMAR = "outside", "outside"
    HELP = "on texts: the share of devices whose text is too long or has symbols outside the alphabet"
    EXAMPLES = (Example(_WORDS, _DEVICES, "outside", [1 / 8]),)

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return view.show(estimate.shares(estimate.domain.code.outside[None]), [(None, None)])
