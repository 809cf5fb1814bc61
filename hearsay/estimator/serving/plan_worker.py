"""Planning in a process of its own: one question as JSON on standard input, its answer on standard output.

The process gives way to everything else on the machine, and whoever started it ends it when it takes too long.
"""

import json
import os
import sys
from contextlib import suppress
from typing import Any

from hearsay.errors import HearsayError

NICE = 15


def main() -> None:
    """`{"plugins": "a,b", "parameters": {...}}` to `{"answer": ...}` or `{"code": ..., "error": ...}`."""
    with suppress(OSError, AttributeError):
        os.nice(NICE)
    question = json.load(sys.stdin)
    json.dump(_answered(question), sys.stdout, allow_nan=False)


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
