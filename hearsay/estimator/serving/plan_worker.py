"""Planning in a process of its own: one question as JSON on standard input, its answer on standard output.

The process gives way to everything else on the machine, and whoever started it ends it when it takes too long.
"""

import json
import os
import sys
from contextlib import suppress
from typing import Any

from hearsay.errors import HearsayError

NICE = 19


def main() -> None:
    """`{"plugins": "a,b", "parameters": {...}}` to `{"answer": ...}` or `{"code": ..., "error": ...}`."""
    give_way()
    question = json.load(sys.stdin)
    json.dump(_answered(question), sys.stdout, allow_nan=False)


def give_way() -> None:
    """Take the lowest priority; while a core has nothing else to do, only such a core.

    On a machine whose cores are all busy a process that waits for an idle one would never end.
    """
    with suppress(OSError, AttributeError):  # not every system knows these
        os.nice(NICE)
        if os.getloadavg()[0] < (os.cpu_count() or 1):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _answered(question: dict[str, Any]) -> dict[str, Any]:
    from hearsay.collector.describe.plan_document import document
    from hearsay.collector.plugins import load_plugins

    try:
        load_plugins(question["plugins"])
        return {"answer": document(question["parameters"])}
    except HearsayError as error:
        return {"code": error.code, "error": str(error)}


if __name__ == "__main__":
    main()
