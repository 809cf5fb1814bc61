"""The base of every error that hearsay raises.

An error is one line for people and fields for programs: `code` is a stable word, `what` names the parameter or thing
that is wrong, `expected` says what is allowed, `got` what was given. The text of most errors is
`WHAT must be EXPECTED, got GOT`, and the fields are read from it; the others set them where they are raised. A device's
value is never part of the text or of a field.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar

_COMPARED = 40  # characters of what was given: comparing takes time in proportion to their number
_SENTENCE = re.compile(r"(?P<what>.+?) must (?:be )?(?P<expected>.+?)(?:, got (?P<got>.*))?", re.DOTALL)


class HearsayError(Exception):
    """Base of every error that hearsay raises: one line of text, and `code`, `what`, `expected` and `got`.

    >>> error = HearsayError("epsilon must be finite and > 0, got -1.0")
    >>> error.what, error.expected, error.got
    ('epsilon', 'finite and > 0', '-1.0')
    """

    CODE: ClassVar[str] = "error"

    def __init__(
        self,
        message: str = "",
        *,
        what: str | None = None,
        expected: str | None = None,
        got: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = self.CODE if code is None else code
        sentence = _SENTENCE.fullmatch(message)
        parts = {} if sentence is None else sentence.groupdict()
        self.what = parts.get("what") if what is None else what
        self.expected = parts.get("expected") if expected is None else expected
        self.got = parts.get("got") if got is None else got

    def table(self) -> dict[str, str | None]:
        """The error as plain data, for logs and programs."""
        return {
            "code": self.code,
            "error": str(self),
            "what": self.what,
            "expected": self.expected,
            "got": self.got,
        }


def nearest(got: str, names: Iterable[str], cutoff: float = 0.0) -> list[str]:
    """Up to three names like what was given, the nearest first; with a cutoff only those that may have been meant.

    >>> nearest("hrrr", ["grr", "haar", "hrr", "oue"])
    ['hrr', 'grr', 'haar']
    >>> nearest("column", ["out", "seed", "values"], cutoff=0.6)
    []
    """
    return get_close_matches(got[:_COMPARED], list(names), n=3, cutoff=cutoff)
