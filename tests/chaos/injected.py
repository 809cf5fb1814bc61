"""A plug-in without mechanisms: where libfaketime is not installed, scripts of this process ask a clock that can be
turned instead of the server's own."""

from hearsay.collector.store import scripts
from tests.clock import turned

MECHANISMS: dict[str, tuple[()]] = {}
scripts.source = turned(scripts.source)  # type: ignore[assignment]
