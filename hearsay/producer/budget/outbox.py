"""Sending what waits in the ledger, one request per report: with a growing pause, over restarts and while offline.

A report's attempt is marked, after the connection stands and before its first byte. From then on it keeps its bytes and
its id: a repeat is stored once. Only where the gateway's answers prove that no attempt was stored may it get a new id,
and wait for as long as it takes. The pause doubles with every failure, from a second to an hour, of which
the device waits a random half to all, so that a million devices do not come back at once; `Retry-After` is the least.
"""

import logging
import secrets
from collections.abc import Callable

from hearsay.producer.budget.ledger import GIVEN_UP, REFUSED, STORED, Ledger
from hearsay.producer.budget.link import Answer, Gateway, NotAnswered, NotReached
from hearsay.producer.budget.terms import Terms

FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 1_000, 3_600_000
# Refusals that somebody may mend, before anything is stored; the others are final unless they have Retry-After.
MENDED = {
    "key": "the key is missing or not known; Device(..., key=...) takes one that `hearsay key add` made",
    "not-for-key": "the key is for another survey",
    "unknown-survey": "no survey of this name is registered",
    "too-early": "this device's clock is over an hour ahead",
    "too-late": "this device's clock is over a day behind",
}
NOT_STORED = (*MENDED, "rate")  # an answer with one of these codes proves that this attempt was not stored
# What the commonest of the final ones mean.
FINAL = {
    "closed": "the survey takes no more reports",
    "round-over": "the round takes no more reports",
    "expired": "the server knows no more whether it is stored; is this device's clock a day behind?",
    "rejected": "it is no report of this survey",
}
_LOG = logging.getLogger("hearsay.device")


class Outbox:
    """The reports of one survey that wait in a ledger. `clock` gives milliseconds."""

    def __init__(self, ledger: Ledger, survey: Terms, gateway: Gateway, clock: Callable[[], int]) -> None:
        self._ledger, self._survey, self._gateway, self._clock = ledger, survey, gateway, clock
        self._warned: set[str] = set()  # why reports wait, as far as it was logged since the last that was settled

    def is_due(self) -> bool:
        """Whether the pause after the last failure is over; a clock that was set back ends it too."""
        _, next_ms = self._ledger.pause(self._survey.tag)
        return not 0 < next_ms - self._clock() <= 2 * LONGEST_PAUSE_MS

    def settle(self) -> None:
        """Give up, or give back, what is not to be sent any more; this needs no gateway."""
        given_up = self._ledger.sweep(self._survey.name)
        if given_up:
            _LOG.warning(
                "reports were given up: sent without an answer, and too old to be sent again",
                extra={"survey": self._survey.name, "reports": given_up},
            )

    def send(self, first: int | None = None) -> str | None:
        """Send all that waits, `first` before the others, until the gateway fails. What became of `first`: `stored`, or
        the code of a refusal that is final; None: it waits, or another process sends it."""
        waiting = self._ledger.waiting(self._survey.tag)
        became = None
        try:
            for number in sorted(waiting, key=lambda each: each != first):
                outcome = self._send_one(number)
                if outcome is None:
                    break
                if number == first:
                    became = outcome or None
        finally:
            self._gateway.close()
        return became

    def _send_one(self, number: int) -> str | None:
        """`stored`, the code of a final refusal, or nothing where it is not to be sent any more; None: the gateway
        failed, and all others have to wait."""
        try:
            self._gateway.connect()
            entry = self._ledger.claim(number)
            if entry is None:
                return ""
            answer = self._gateway.post(entry)
        except (NotReached, NotAnswered) as error:
            self.put_off(str(error), f"the gateway does not answer ({error})")
            return None
        if answer.status == 202 and "accepted" in answer.table:
            is_stored = answer.table["accepted"] == 1
            return self._finish(number, STORED if is_stored else REFUSED, STORED if is_stored else "rejected")
        if _is_final(answer):
            return self._finish(number, GIVEN_UP if answer.code == "expired" else REFUSED, answer.code)
        if answer.code in NOT_STORED:
            self._ledger.take_back(number)
        why = "the gateway refuses them" if answer.code in MENDED else "the gateway cannot store them now"
        if not answer.is_gateway_s:
            why = "something else than a gateway answers"
        self.put_off(answer.code, f"{why}: {MENDED.get(answer.code, answer.code)}", answer.retry_after_s or 0.0)
        return None

    def count(self) -> int:
        """How many reports wait under the survey's name; a warning where the gateway's survey is not that of some."""
        waiting = self._ledger.count_waiting(self._survey.name)
        others = waiting - len(self._ledger.waiting(self._survey.tag))
        if others:
            self._warn(
                "definition", "they were made for another definition of it, which the gateway must have to get them"
            )
        return waiting

    def put_off(self, code: str, why: str, least_s: float = 0.0) -> None:
        """Nothing can be sent now: say why, and back off."""
        self._warn(code, why)
        self._back_off(int(1_000 * least_s))

    def _warn(self, code: str, why: str) -> None:
        """Say once why reports wait."""
        if code not in self._warned:
            self._warned.add(code)
            words = f"reports of survey {self._survey.name} wait, {why}"
            _LOG.warning(words, extra={"survey": self._survey.name, "code": code})

    def _finish(self, number: int, state: str, code: str) -> str:
        """The code, when the ledger has the state."""
        self._ledger.finish(number, state)
        self._ledger.set_pause(self._survey.tag, 0, 0)
        self._warned.clear()
        if state != STORED:
            words = f"a report of survey {self._survey.name} was refused: {FINAL.get(code, code)}"
            _LOG.warning(words, extra={"survey": self._survey.name, "code": code})
        return code

    def _back_off(self, least_ms: int) -> None:
        """Wait longer than after the last failure, and at least so long."""
        tries, _ = self._ledger.pause(self._survey.tag)
        longest = min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS << min(tries, 20))
        pause_ms = max(least_ms, longest // 2 + secrets.randbelow(longest // 2 + 1))
        self._ledger.set_pause(self._survey.tag, tries + 1, self._clock() + min(pause_ms, LONGEST_PAUSE_MS))


def _is_final(answer: Answer) -> bool:
    """Whether the gateway itself refuses the report for good; pages of others on the way to it refuse nothing."""
    is_refusal = answer.is_gateway_s and 400 <= answer.status < 500
    return is_refusal and answer.retry_after_s is None and answer.code not in MENDED
