"""Planning in a process of its own: questions on standard input, answers on standard output, each a line of JSON.

The process has the lowest priority. It ends by a signal when a question takes too much processor time. Whoever started
it may pause it (`pausing`), ends it when it takes too long by the clock, and takes it along when killed.
"""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from hearsay.errors import HearsayError

LOWEST = 19  # priority, whatever that of the estimator
OUT_OF_TIME = int(getattr(signal, "SIGPROF", 27))  # what ends it after its processor time; not every system has it
_PR_SET_PDEATHSIG = 1  # prctl(2)


def main() -> None:
    """First a line: whether it may be paused, `true` or `false`. Then a line for each question.

    `{"plugins": "a,b", "processor_s": 20, "parameters": {...}}` to `{"answer": ...}` or `{"code": ..., "error": ...}`.
    """
    with suppress(OSError, AttributeError):  # not every system knows it
        os.setpriority(os.PRIO_PROCESS, 0, LOWEST)
    print(json.dumps(ends_with_its_parent()), flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        with _limited(question["processor_s"]):
            answer = _answered(question)
        print(json.dumps(answer, allow_nan=False), flush=True)


@contextmanager
def _limited(processor_s: float) -> Iterator[None]:
    """This block may use so much processor time."""
    with suppress(AttributeError):  # not every system counts a process' time
        signal.setitimer(signal.ITIMER_PROF, processor_s)
    yield
    with suppress(AttributeError):
        signal.setitimer(signal.ITIMER_PROF, 0)


def ends_with_its_parent() -> bool:
    """Whether the system now kills this process when its parent dies, paused or not.

    A parent that died before has sent no question, which ends this process too.
    """
    with suppress(OSError, AttributeError):  # only Linux has it
        return bool(ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL)) == 0)
    return False


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
