"""A device with a ledger: it reports as often as the survey allows, and sends what it made until it is stored."""

import logging
import time
from collections.abc import Callable, Mapping
from hashlib import shake_256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from hearsay.collector.errors import SurveyClosed
from hearsay.collector.survey.participation import ALL_ROUNDS, SAMPLED
from hearsay.collector.survey.windows import Window
from hearsay.errors import HearsayError
from hearsay.producer.budget.ledger import HANDED_OUT, STORED, Draw, Ledger
from hearsay.producer.budget.link import Link, NotAnswered, NotReached
from hearsay.producer.budget.outbox import FINAL, Outbox
from hearsay.producer.budget.read_survey import is_address, read_survey
from hearsay.producer.budget.terms import Terms
from hearsay.producer.errors import BudgetSpent, GatewayError

if TYPE_CHECKING:
    from hearsay.collector.survey.survey import Survey
    from hearsay.mechanisms.exact.randomness import Random

_LOG = logging.getLogger("hearsay.device")
SENT, KEPT, SKIPPED = "sent", "kept", "skipped"


def now_ms() -> int:
    """The device's clock."""
    return int(time.time() * 1_000)


def fetch(link: Link, ledger: Ledger | None) -> tuple[Terms, bool]:
    """The survey as its gateway describes it; while the gateway is away, as the ledger remembers it. And whether it
    takes reports, as far as is known."""
    try:
        return _described(link)
    except (NotReached, NotAnswered) as error:
        known = None if ledger is None else ledger.definition(link.url)
        if known is None:
            raise GatewayError(f"the gateway {_why(error)}, and the survey is not known yet") from None
        _LOG.warning("the survey is taken from the ledger: the gateway %s", _why(error), extra={"url": link.url})
        return read_survey(known), True
    finally:
        link.close()


def _why(error: NotReached | NotAnswered) -> str:
    """Why there is no description, as the end of a sentence about the gateway."""
    if isinstance(error, NotAnswered) and error.by_gateway:
        return f"cannot answer now ({error})"
    return f"does not answer ({error})"


def _described(link: Link) -> tuple[Terms, bool]:
    """The survey as the gateway has it, and whether it takes reports. A gateway that cannot answer just now is one that
    does not answer, and so is one in whose place a portal or a proxy answers."""
    answer = link.survey()
    if answer.status >= 500 or answer.retry_after_s is not None:
        raise NotAnswered(str(answer.table.get("error", answer.code)), answer.retry_after_s, by_gateway=True)
    if answer.status != 200 or not isinstance(answer.table.get("definition"), dict):
        if not answer.is_gateway_s:
            raise NotAnswered(f"{answer.status} from something else; is this a gateway's address?")
        name = link.url.rpartition("/")[2]
        if answer.code == "unknown-survey":
            raise GatewayError(f"the gateway has no survey of the name {name!r}; `hearsay survey list` shows all names")
        raise GatewayError(f"{link.url} does not describe a survey ({answer.code}); is this a gateway's address?")
    return read_survey(answer.table), answer.table.get("open") is not False


def open_budget(
    source: "Survey | Mapping[str, Any] | str | Path",
    path: str | Path | None,
    key: str | None,
    check: Callable[[Terms], None],
) -> "tuple[Terms, Budget | None]":
    """The survey, which `check` may refuse, and its budget where there is a ledger; a URL is asked for the survey."""
    ledger = None if path is None else Ledger(path, now_ms)
    link = Link(str(source), key) if is_address(source) else None
    survey, is_open = (read_survey(source), True) if link is None else fetch(link, ledger)
    check(survey)
    return survey, None if ledger is None else Budget(survey, ledger, link, is_open=is_open)


class Budget:
    """What one device may still spend on one survey, and its outbox. `link` is None where it only makes reports."""

    def __init__(
        self,
        survey: Terms,
        ledger: Ledger,
        link: Link | None,
        clock: Callable[[], int] = now_ms,
        *,
        is_open: bool = True,
    ) -> None:
        self._is_open = is_open  # a survey that was seen closed stays closed
        self._survey, self._ledger, self._link, self._clock = survey, ledger, link, clock
        self._lock = Lock()  # of the connection; the ledger has its own
        self._same = False  # whether the gateway was seen to have this very survey
        ledger.enter(survey, None if link is None else link.url)
        self._outbox = None if link is None else Outbox(ledger, survey, link, clock)

    @property
    def answered(self) -> int:
        """The last round that was answered."""
        return self._ledger.answered(self._survey.tag)

    def hand_out(self, draw: Draw, round_number: int | None) -> bytes:
        """A report that the program itself sends, paid for."""
        window = self._survey.windows.of(self._clock(), round_number)
        if self._skips(window):
            raise BudgetSpent(f"this device answers survey {self._survey.name} in another window")
        return self._ledger.spend(self._survey, window, round_number, draw, HANDED_OUT).report

    def submit(self, draw: Draw, round_number: int | None) -> str:
        """A report, paid for and sent: `sent`; `kept`: it waits to be sent; `skipped`: it drew another window.

        SurveyClosed, before anything is drawn where that is known; GatewayError where the gateway refused it for good.
        BudgetSpent comes after another attempt to send what waits: a device that answers once has no other submit.
        """
        outbox = self._sending()
        outbox.settle()
        self._check_open()
        window = self._survey.windows.of(self._clock(), round_number)
        if self._skips(window):
            return SKIPPED
        try:
            number = self._ledger.spend(self._survey, window, round_number, draw).number
        except BudgetSpent:
            self._send_due(outbox)
            raise
        with self._lock:
            became = outbox.send(number) if outbox.is_due() and self._is_same() else None
            self._same = (
                self._same and became is not None
            )  # what refused it may have another survey when it is tried again
        if became == "closed":
            self._is_open = False
            raise SurveyClosed(f"survey {self._survey.name} was closed and took no more reports; this one is spent")
        if became not in (None, STORED):
            words = FINAL.get(became, became)
            raise GatewayError(f"the gateway refused the report, which is spent and not sent again: {words}")
        return KEPT if became is None else SENT

    def flush(self) -> int:
        """Try to send all that waits, now; how many still wait under the survey's name, whatever its definition was."""
        with self._lock:
            outbox = self._sending()
            outbox.settle()
            if self._is_same():
                outbox.send()
                self._same = not self._ledger.waiting(self._survey.tag)
        return outbox.count()

    def _send_due(self, outbox: Outbox) -> None:
        """Send what waits, where the pause after the last failure is over."""
        if not self._ledger.waiting(self._survey.tag):
            return
        with self._lock:
            if outbox.is_due() and self._is_same():
                outbox.send()
                self._same = not self._ledger.waiting(self._survey.tag)

    def _check_open(self) -> None:
        if not self._is_open:
            raise SurveyClosed(f"survey {self._survey.name} is closed and takes no more reports")

    def offer(self) -> dict[str, object]:
        """The open round, as this device gets it; SurveyClosed after the last one; GatewayError where none is open yet,
        or there is no answer."""
        self._sending()
        assert self._link is not None
        self._check_open()
        with self._lock:
            try:
                answer = self._link.round()
                if answer.code == "no-round":
                    self._is_open = _described(self._link)[1]
            except (NotReached, NotAnswered) as error:
                raise GatewayError(f"the gateway {_why(error)}, and the round is not known") from None
            finally:
                self._link.close()
        self._check_open()
        if answer.code == "no-round":
            name = self._survey.name
            raise GatewayError(f"no round of survey {name} is open: the last one is being counted; submit again soon")
        if answer.status != 200:
            raise GatewayError(f"the gateway has no round for this device: {answer.code}")
        return dict(answer.table)

    def _skips(self, window: Window) -> bool:
        return self._survey.participation.repeat == SAMPLED and window.number != self.sampled(window)

    def sampled(self, window: Window) -> int:
        """The number of the window that the device answers, of the group of `of` windows that this one belongs to."""
        of, windows = self._survey.participation.of, self._survey.windows
        assert of is not None
        group = windows.position(window) // of
        drawn = shake_256(self._ledger.secret + f"window {self._survey.tag} {group}".encode()).digest(16)
        return windows.at(group * of + int.from_bytes(drawn, "big") % of).number  # 2^128 is even enough for any `of`

    def stream(self, text: str) -> "Random":
        """Draws that are the same again for the same text, survey and ledger."""
        from hearsay.mechanisms.exact.randomness import DerivedRandom

        return DerivedRandom(self._ledger.secret + f"memoised {self._survey.tag} {text}".encode())

    def _sending(self) -> Outbox:
        if self._outbox is None:
            raise GatewayError("submit and flush need the survey's URL: Device('https://.../v1/surveys/NAME', ...)")
        return self._outbox

    def _is_same(self) -> bool:
        """Whether the gateway has this very survey: reports of one definition mean nothing under another."""
        if self._same:
            return True
        assert self._link is not None
        try:
            described, _ = _described(self._link)
        except (NotReached, NotAnswered) as error:
            least_s = error.retry_after_s if isinstance(error, NotAnswered) else 0.0
            self._sending().put_off(str(error), f"the gateway {_why(error)}", least_s)
            return False
        except HearsayError as error:  # no such survey, no gateway's answer, or a survey that this version cannot read
            self._sending().put_off(str(error), str(error))
            return False
        finally:
            self._link.close()
        self._same = described.tag == self._survey.tag
        if not self._same:
            theirs, ours = described.tag8, self._survey.tag8
            self._sending().put_off(theirs, f"the gateway's survey has tag {theirs}, and they were made for {ours}")
        return self._same

    def spent(self) -> float:
        """Epsilon spent under the survey's name, whatever its definition was."""
        return self._ledger.spent(self._survey.name)

    def statement(self) -> str:
        """What this ledger spent where, in words."""
        lines = []
        for account in self._ledger.accounts():
            states = ", ".join(f"{reports:,} {state}" for state, reports in sorted(account.reports.items()))
            each = f" {ALL_ROUNDS}" if account.in_rounds else f", {account.epsilon:g} per report"
            lines.append(
                f"{account.name} (tag {account.tag[:8]}): spent epsilon {account.spent:g}{each}; reports: "
                f"{states or 'none'}"
            )
        return "\n".join(lines)
