"""A plug-in without mechanisms: where libfaketime is not installed, scripts of this process ask a clock that can be
turned instead of the server's own."""

from tests.clock import turn_scripts

MECHANISMS: dict[str, tuple[()]] = {}
turn_scripts()
