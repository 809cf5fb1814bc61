"""The highest rate that is held: first as fast as reports are taken, then steps at steady rates around that."""

import threading
from collections.abc import Callable
from dataclasses import replace

from hearsay.ops.load.process import Task
from hearsay.ops.load.run import Outcome

STEP_S = 6.0
STEP_LATE_S = 0.5  # a step that ends a second late took a sixth less than asked, and would fall behind in a longer test
BURST_S = 3.0  # the first burst is repeated with more reports until it takes so long
FIRST_REPORTS = 1 << 18
TRIES = 2  # of a step: what else runs on the machine may hold up one
MOST_TIMES = 8  # as many as before
STEPS = (0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0)  # of what was taken at once

Run = Callable[[Task], Outcome]


def ramp(run: Run, task: Task, stop: threading.Event, say: Callable[[Outcome], None]) -> list[Outcome]:
    """The outcomes of all steps, the burst first. A step that is not held is tried once more; then it ends the ramp."""
    total = FIRST_REPORTS
    while True:
        burst = run(replace(task, rate=None, total=total))
        took_s = burst.reports / burst.committed_per_s if burst.committed_per_s else BURST_S
        if took_s >= BURST_S or stop.is_set():
            break
        total = int(total * min(max(1.3 * BURST_S / took_s, 2), MOST_TIMES))
    outcomes = [burst]
    say(burst)
    full = burst.committed_per_s
    for share in STEPS:
        if stop.is_set() or not full:
            break
        step = replace(task, rate=share * full, total=max(1, int(share * full * STEP_S)), late_s=STEP_LATE_S)
        for _ in range(TRIES):
            outcomes.append(run(step))
            say(outcomes[-1])
            if outcomes[-1].held or stop.is_set():
                break
        if not outcomes[-1].held:
            break
    return outcomes


def highest(outcomes: list[Outcome]) -> Outcome | None:
    """The last step that was held."""
    return next((each for each in reversed(outcomes) if each.held and each.asked_per_s is not None), None)
