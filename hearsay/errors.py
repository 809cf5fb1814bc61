"""The base of every error that hearsay raises.

An error is one line for people and fields for programs: `code` is a stable word, `what` names the parameter or thing
that is wrong, `expected` says what is allowed, `got` what was given. Most errors are raised with their fields, of which
the text is composed: `WHAT must be EXPECTED, got GOT`. The others are raised with a text of their own, and with fields
beside it. A device's value is never part of the text or of a field.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar, TypedDict

_COMPARED = 40  # characters of what was given: comparing takes time in proportion to their number


class Fields(TypedDict, total=False):
    """What an error may be raised with, beside its text or instead of it."""

    what: str | None
    expected: str | None
    must: str | None
    got: str | float | None
    ending: str
    code: str | None


class HearsayError(Exception):
    """Base of every error that hearsay raises: one line of text, and `code`, `what`, `expected` and `got`.

    >>> error = HearsayError(what="epsilon", expected="finite and > 0", got=-1.0)
    >>> error
    HearsayError('epsilon must be finite and > 0, got -1.0')
    >>> error.what, error.expected, error.got
    ('epsilon', 'finite and > 0', '-1.0')

    Where the verb is another than "be", `must` is given instead of `expected`. `ending` is how the text goes on:

    >>> error = HearsayError(what="domain", must="have at most 8 bits", got=9, ending="; use inp-ht")
    >>> error
    HearsayError('domain must have at most 8 bits, got 9; use inp-ht')
    >>> error.what, error.expected, error.got
    ('domain', 'have at most 8 bits', '9')

    An error that is raised again under another name keeps its fields:

    >>> HearsayError(f"survey.toml: {error}", **error.fields).what
    'domain'
    """

    CODE: ClassVar[str] = "error"

    def __init__(
        self,
        message: str = "",
        *,
        what: str | None = None,
        expected: str | None = None,
        must: str | None = None,
        got: str | float | None = None,
        ending: str = "",
        code: str | None = None,
    ) -> None:
        if not message and (expected or must):
            message = _sentence(what, f"be {expected}" if must is None else must, got)
        super().__init__(message + ending)
        self.code = self.CODE if code is None else code
        self.what = what
        self.expected = expected if must is None else must
        self.got = None if got is None else str(got)

    @property
    def fields(self) -> Fields:
        """The fields to raise another error with."""
        return {"what": self.what, "expected": self.expected, "got": self.got}

    def table(self) -> dict[str, str | None]:
        """The error as plain data, for logs and programs."""
        return {
            "code": self.code,
            "error": str(self),
            "what": self.what,
            "expected": self.expected,
            "got": self.got,
        }


def _sentence(what: str | None, must: str, got: str | float | None) -> str:
    sentence = f"must {must}" if what is None else f"{what} must {must}"
    return sentence if got is None else f"{sentence}, got {got}"


def nearest(got: str, names: Iterable[str], cutoff: float = 0.0) -> list[str]:
    """Up to three names like what was given, the nearest first; with a cutoff only those that may have been meant.

    >>> nearest("hrrr", ["grr", "haar", "hrr", "oue"])
    ['hrr', 'grr', 'haar']
    >>> nearest("column", ["out", "seed", "values"], cutoff=0.6)
    []
    """
    return get_close_matches(got[:_COMPARED], list(names), n=3, cutoff=cutoff)
