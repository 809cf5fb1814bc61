"""What a setting is: one row of the table in `config`, and how its text is read.

Each reader raises a ValueError whose text says what is allowed.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any

from hearsay.collector.roles import Role
from hearsay.collector.store.servers.urls import SCHEMES, parse_url

ENVIRONMENT_PREFIX = "HEARSAY_"


def text(allowed: str, accept: Callable[[str], bool], value: str) -> str:
    """A text that is accepted."""
    if not accept(value):
        raise ValueError(allowed)
    return value


def integer(low: int, high: int, text: str) -> int:
    """A whole number in these bounds."""
    if not (text.isascii() and text.isdecimal()) or not low <= int(text) <= high:
        raise ValueError(f"an integer in {low}..{high}")
    return int(text)


def number(what: str, low: float, high: float, text: str) -> float:
    """A finite number in these bounds."""
    allowed = f"{what} in {low:g}..{high:g}"
    try:
        value = float(text)
    except ValueError:
        raise ValueError(allowed) from None
    if not isfinite(value) or not low <= value <= high:
        raise ValueError(allowed)
    return value


# Below 2^63 bytes: of what is beyond 2^64 the server takes the remainder.
_MEMORY = re.compile(r"[0-9]{1,15}(b|k|kb)?|[0-9]{1,9}(m|mb|g|gb)", re.IGNORECASE)


def memory(text: str) -> str:
    """A number of bytes as the server reads it: k, m and g are powers of 1,000, kb, mb and gb of 1,024."""
    if not _MEMORY.fullmatch(text):
        raise ValueError("a number of bytes, or of one of the units b, k, kb, m, mb, g and gb, such as 512mb or 2gb")
    return text


seconds = partial(number, "a number of seconds")


def flag(text: str) -> bool:
    """Yes or no."""
    if text.lower() not in ("1", "0", "true", "false", "yes", "no"):
        raise ValueError("yes or no")
    return text.lower() in ("1", "true", "yes")


def is_redis_url(text: str) -> bool:
    try:
        parse_url(text)
    except ValueError:
        return False
    return True


def is_prefix(text: str) -> bool:
    """Whether keys may begin with it."""
    return 0 < len(text) <= 32 and all(letter.isascii() and (letter.isalnum() or letter in "-_") for letter in text)


def is_token(text: str) -> bool:
    """Whether a header can carry it."""
    return 0 < len(text) <= 256 and all("!" <= letter <= "~" for letter in text)


port = partial(integer, 1, 65535)
redis_url = partial(
    text,
    f"a URL that starts with {', '.join(f'{scheme}://' for scheme in SCHEMES)}, with hosts and their ports in "
    "1..65535, in whose password / ? # and @ are written as %2F %3F %23 and %40",
    is_redis_url,
)


@dataclass(frozen=True)
class Setting:
    """One row of the table. The default is written as a person would type it; empty means `otherwise`.

    The commands of `roles` have it as a flag. A role gets what its own settings class names (`Settings.part`).
    """

    name: str
    default: str
    help: str
    parse: Callable[[str], Any]
    roles: tuple[Role, ...] = ()
    otherwise: str = ""
    secret: bool = False
    option: str = ""  # the flag, where it is not the setting's name
    switch: bool = False  # the flag stands alone, and has a --no- form
    alone: str | None = None  # what the flag means where no value follows it; None: a value must follow

    @property
    def flag(self) -> str:
        return self.option or "--" + self.name.replace("_", "-")

    @property
    def environment(self) -> str:
        return ENVIRONMENT_PREFIX + self.name.upper()
