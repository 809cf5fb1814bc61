"""One thing that was looked at."""

from typing import NamedTuple


class Finding(NamedTuple):
    """What was looked at, whether it is well, and what was seen or what to do."""

    what: str
    ok: bool
    words: str
