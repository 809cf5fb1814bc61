"""What `hearsay doctor` found out, one check each."""

from typing import NamedTuple


class Finding(NamedTuple):
    """The result of one check: `what` was checked, whether it is `ok`, and in `words` what was seen or what to do."""

    what: str
    ok: bool
    words: str
