"""Reports that their sender calls simulated (`hearsay produce --via`): counted apart, not mixed with others unasked.

It is the sender's word. Whoever calls real reports simulated changes no answer, only the number that `status` shows.
"""

import time
from asyncio import get_running_loop
from concurrent.futures import Executor

from hearsay.collector.gateway.refusals import Refusal
from hearsay.collector.store.registry import Registered

SIMULATED_HEADER = "Hearsay-Simulated"
ALONE, MIXED = "alone", "mixed"
SIMULATED_MODES = (ALONE, MIXED)
FRESH_S = 1.0  # how long the answer that a survey has simulated reports only is used without asking again


def read_mode(given: bytes | None) -> str | None:
    """What the header says; None: the reports are not simulated."""
    if given is None:
        return None
    if (mode := given.decode("latin-1")) not in SIMULATED_MODES:
        raise Refusal("malformed", f"the header {SIMULATED_HEADER} must be {ALONE} or {MIXED}")
    return mode


class Mixtures:
    """Which surveys have reports that nobody called simulated, behind a short memory."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._asked: dict[str, float] = {}  # by tag: when it had none

    async def refuse(self, registered: Registered) -> None:
        """Refusal where the survey has reports that were not simulated."""
        tag, now = registered.survey.tag, time.monotonic()
        if now - self._asked.get(tag, -FRESH_S) < FRESH_S:
            return
        seen = await get_running_loop().run_in_executor(self._executor, registered.look)
        if (others := seen.published_reports - seen.simulated_reports) > 0:
            reports = "1 report" if others == 1 else f"{others:,} reports"
            raise Refusal(
                "real-reports",
                f"survey {registered.survey.name} has {reports} not simulated, and simulated ones cannot be taken out "
                f"again; use another survey, or {SIMULATED_HEADER}: {MIXED}",
            )
        self._asked = {each: at for each, at in self._asked.items() if now - at < FRESH_S} | {tag: now}
