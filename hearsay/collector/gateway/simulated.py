"""Reports that their sender declares simulated by a header (`hearsay produce --via`). They are counted apart.

In the mode `alone` they are refused where the survey has other reports; in the mode `mixed` they are taken there too.
The gateway believes the sender: real reports that are declared simulated change no answer, only the number of simulated
reports that `status` shows.
"""

import time
from asyncio import get_running_loop
from concurrent.futures import Executor

from hearsay.collector.gateway.refusals import Refusal
from hearsay.collector.store.registry import Registered

SIMULATED_HEADER = "Hearsay-Simulated"
ALONE, MIXED = "alone", "mixed"
SIMULATED_MODES = (ALONE, MIXED)
FRESH_S = 1.0  # a survey that had simulated reports only is looked at again after this time


def read_mode(given: bytes | None) -> str | None:
    """The mode that the header names; None where it is absent, as with real reports."""
    if given is None:
        return None
    if (mode := given.decode("latin-1")) not in SIMULATED_MODES:
        raise Refusal("malformed", f"the header {SIMULATED_HEADER} must be {ALONE} or {MIXED}")
    return mode


class Mixtures:
    """Keeps simulated reports out of surveys with real ones. Surveys without real ones are remembered for FRESH_S."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._unmixed_at: dict[str, float] = {}  # by the survey's tag: when it was last seen without real reports

    async def refuse(self, registered: Registered) -> None:
        """Raise a Refusal if the survey has real reports, that is, reports that were not declared simulated."""
        tag, now = registered.survey.tag, time.monotonic()
        if now - self._unmixed_at.get(tag, -FRESH_S) < FRESH_S:
            return
        look = await get_running_loop().run_in_executor(self._executor, registered.look)
        if (real := look.published_reports - look.simulated_reports) > 0:
            reports = "1 report" if real == 1 else f"{real:,} reports"
            raise Refusal(
                "real-reports",
                f"survey {registered.survey.name} has {reports} not simulated, and simulated ones cannot be taken out "
                f"again; use another survey, or {SIMULATED_HEADER}: {MIXED}",
            )
        fresh = {each: at for each, at in self._unmixed_at.items() if now - at < FRESH_S}
        self._unmixed_at = {**fresh, tag: now}
