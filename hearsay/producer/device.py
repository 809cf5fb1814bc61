"""The client library: a device perturbs its value and returns a report as bytes; the value stays on the device."""

import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from hearsay.collector.errors import OfferRefused, SurveyError
from hearsay.collector.survey.participation import MEMOISED
from hearsay.producer.budget.read_survey import is_address, read_survey
from hearsay.producer.budget.terms import Terms
from hearsay.producer.errors import LedgerError, RepeatedReports

if TYPE_CHECKING:  # a device that only makes reports has no redis, no ledger and no connection
    from hearsay.collector.survey.offers import Offer
    from hearsay.collector.survey.survey import Survey
    from hearsay.collector.survey.windows import Window
    from hearsay.collector.writer import Writer
    from hearsay.mechanisms.exact.randomness import Random
    from hearsay.mechanisms.roles import DeviceSide
    from hearsay.producer.budget.budget import Budget
    from hearsay.producer.portable.side import FormSide


class Device:
    """One participant of a survey.

    >>> device = Device({"name": "likes", "mechanism": "hrr", "epsilon": 1.0,
    ...                  "domain": {"kind": "categorical", "categories": ["tea", "coffee"]}})
    >>> isinstance(device.report("tea"), bytes)
    True
    """

    def __init__(
        self,
        survey: "Survey | Mapping[str, Any] | str | Path",
        random: "Random | None" = None,
        *,
        answered: int = 0,
        ledger: str | Path | None = None,
        tag: str | None = None,
        max_epsilon: float | None = None,
        key: str | None = None,
    ) -> None:
        """`survey`: a survey, its table, its file, its URL on a gateway, or what the gateway answered there.
        `random` is the secure source unless a test names another.

        Without numpy and pydantic a device follows the form in the gateway's answer (`docs/how-to/devices.md`).

        `ledger` is the file that keeps what was spent and what waits to be sent; one file per device. The survey is
        refused where it has another `tag`, or an epsilon above `max_epsilon`. `key` is the gateway's.
        `answered` is the last round that this device answered: without a ledger, a program must store it and pass it
        after a restart.
        """
        self._budget: Budget | None = None
        if ledger is None and not is_address(survey):
            self._terms = read_survey(survey)
            _check_allowed(self._terms, tag, max_epsilon)
        else:
            from hearsay.producer.budget.budget import open_budget

            self._terms, self._budget = open_budget(
                survey, ledger, key, lambda described: _check_allowed(described, tag, max_epsilon)
            )
        self._memoised = self._terms.participation.repeat == MEMOISED
        if self._memoised and ledger is None:
            raise LedgerError(
                f"survey {self._terms.name} is memoised: its devices need a ledger, which keeps their secret"
            )
        self._side = _side(self._terms, random, answered)
        self._answered = answered
        self._lock = Lock()
        self._window: Window | None = None  # in which it reported last
        self._warned = False

    @property
    def survey(self) -> "Survey":
        """The survey with its mechanism; needs numpy and pydantic."""
        from hearsay.collector.survey.survey import Survey

        return self._terms if isinstance(self._terms, Survey) else Survey.of(self._terms.canonical()["definition"])

    def report(self, value: Any, round: Mapping[str, Any] | None = None) -> bytes:
        """A private report of one value in the domain's own units; on a grid a mapping or sequence of axis values.

        If the survey has rounds, `round` is the offer of the open round (None: the first round). Each round is answered
        once, in rising order, whatever the value; otherwise OfferRefused states the reason. To retry, send the same
        bytes again: a second report spends epsilon again. With a ledger, BudgetSpent says that no report is left.
        """
        return self._report(value, round)[0]

    def reports(self, values: Any) -> list[bytes]:
        """Reports of many devices, one for each value, perturbed at once: for a gateway of one's own, or an import.

        `values` is a sequence, a mapping of columns, or a frame of pandas, polars or arrow. `(b"r", report)` for each
        is one batch for `Writer.publish`. Nobody's spending is kept here: a device with a ledger, and surveys with
        rounds or memoised reports, report one by one.

        >>> survey = {"name": "likes", "mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "binary"}}
        >>> len(Device(survey).reports([1, 0, 1]))
        3
        """
        if self._budget is not None or self._memoised:
            raise LedgerError("reports() is for many devices, and this one has a ledger of its own; use report()")
        if self._terms.windows.in_rounds:
            raise OfferRefused("reports() does not answer rounds; each device answers its own offer with report()")
        return self._side.many(values)

    def submit(self, value: Any, round: Mapping[str, Any] | None = None) -> str:
        """Make a report and send it: `"sent"`; `"kept"` where it waits in the ledger for the gateway; `"skipped"` where
        the survey samples windows and this is none of the device's.

        BudgetSpent, before anything is drawn: nothing may be spent now. SurveyClosed or GatewayError: the gateway takes
        the report neither now nor later. A survey with rounds is asked for its open one.
        """
        budget, cells = self._with_ledger(), self._side.read(value)
        if round is None and self._terms.windows.in_rounds:
            round = budget.offer()
        offer = self._side.offer(round)
        return budget.submit(lambda answered: self._draw(cells, offer, answered), self._number(offer))

    def flush(self) -> int:
        """Try to send every report that waits, now; how many still wait under the survey's name."""
        return self._with_ledger().flush()

    def spent(self) -> float:
        """The epsilon that the ledger has spent under the survey's name."""
        return self._with_ledger().spent()

    def statement(self) -> str:
        """What the ledger has spent on which survey, in words, one line each."""
        return self._with_ledger().statement()

    def _with_ledger(self) -> "Budget":
        if self._budget is None:
            raise LedgerError("this device has no ledger: Device(survey, ledger='device.db')")
        return self._budget

    def _number(self, offer: "Offer | None") -> int | None:
        return offer.number if offer is not None and self._terms.windows.in_rounds else None

    def _draw(self, cells: Any, offer: "Offer | None", answered: int) -> bytes:
        """A report in the round of the offer, for a device that answered rounds up to `answered`."""
        memoised = self._memoised and self._budget is not None
        return self._side.draw(cells, offer, answered, self._with_ledger().stream if memoised else None)

    def _report(self, value: Any, round: Mapping[str, Any] | None) -> tuple[bytes, int | None]:
        """The report, and the round that it answers where the survey has rounds."""
        cells, offer = self._side.read(value), self._side.offer(round)
        if self._budget is not None:
            draw = lambda answered: self._draw(cells, offer, answered)  # noqa: E731
            return self._budget.hand_out(draw, self._number(offer)), self._number(offer)
        if offer is None:
            self._warn_of_repeats()
            return self._draw(cells, None, 0), None
        with self._lock:  # of several threads with one offer only the first answers it
            before = self._answered
            self._side.check(offer, before)
            self._answered = offer.number  # recorded before anything is drawn, whatever stops the thread afterwards
            try:
                return self._draw(cells, offer, before), offer.number
            except OfferRefused:
                self._answered = before
                raise

    def _warn_of_repeats(self) -> None:
        """Say once that a second report in one window spends epsilon again."""
        if self._warned:
            return
        window = self._terms.windows.of(int(time.time() * 1_000), None)
        if window == self._window:
            self._warned = True
            warnings.warn(
                f"this device reports to {self._terms.name} again in one window: each report spends epsilon, and their "
                "average reveals the value; Device(..., ledger=FILE) keeps count",
                RepeatedReports,
                stacklevel=4,
            )
        self._window = window

    @property
    def answered(self) -> int:
        """The last round that was answered, 0 for none. Without a ledger, store it and pass it to the next `Device` of
        the same survey."""
        return self._answered if self._budget is None else self._budget.answered

    def publish(self, value: Any, writer: "Writer", round: Mapping[str, Any] | None = None) -> None:
        """Report a value and append it to the stream; only for devices that may write to the stream."""
        from hearsay.collector.wire.decode import FIELD_SINGLE

        report, number = self._report(value, round)
        writer.publish([(FIELD_SINGLE, report)], 1, number if self._terms.windows.in_rounds else None)


class _MechanismSide:
    """Builds the mechanism from the survey's definition: any mechanism, rounds, memoised lives. Needs numpy."""

    def __init__(self, survey: "Survey", random: "Random | None", answered: int) -> None:
        from hearsay.collector.survey.offers import Offer
        from hearsay.collector.wire.codec import codec
        from hearsay.mechanisms.errors import SpecificationError
        from hearsay.mechanisms.exact.randomness import secure

        self._survey, self._random = survey, secure() if random is None else random
        self._mechanism: DeviceSide = survey.mechanism
        self._codec = codec(self._mechanism)
        self._first = Offer(survey.tag, 1, {}) if survey.windows.in_rounds else None  # the first round needs no offer
        last = survey.mechanism.rounds
        if type(answered) is not int or not 0 <= answered <= last:
            # With a wrong number the device would answer a round twice, or none at all, without an error.
            raise SpecificationError(what="answered", expected=f"an integer in 0..{last}", got=repr(answered))

    def read(self, value: Any) -> Any:
        """A value in the domain's own units as the mechanism takes it."""
        return self._mechanism.domain.one(value)

    def offer(self, round: Mapping[str, Any] | None) -> "Offer | None":
        """The round to answer; None where the survey has none."""
        if round is None:
            return self._first
        from hearsay.collector.survey.offers import Offer

        return Offer.parse(round)

    def check(self, offer: "Offer", answered: int) -> None:
        """OfferRefused where a device that answered rounds up to `answered` does not answer this one."""
        offer.accepted(self._survey, answered)

    def draw(
        self, cells: Any, offer: "Offer | None", answered: int, stream: "Callable[[str], Random] | None" = None
    ) -> bytes:
        """A report in the round of the offer; with `stream`, which repeats itself, as a memoised life has it."""
        if stream is not None:
            return self._codec.encode_singles(self._survey.mechanism.perturb_memoised(cells, stream))[0]
        if offer is None:
            return self._codec.encode_singles(self._mechanism.perturb(cells, self._random))[0]
        from hearsay.collector.wire.codec import codec
        from hearsay.mechanisms.errors import SpecificationError

        mechanism: DeviceSide = offer.accepted(self._survey, answered).mechanism
        try:
            reports = mechanism.perturb(cells, self._random)
        except SpecificationError as error:  # parameters that no round has: nothing was answered
            raise OfferRefused(str(error), **error.fields) from None
        return codec(mechanism).encode_singles(reports)[0]

    def many(self, values: Any) -> list[bytes]:
        """Reports of many devices, perturbed at once."""
        from hearsay.mechanisms.domains.given import values_of

        reports = self._mechanism.perturb(values_of(self._mechanism.domain, values), self._random)
        return list(self._codec.encode_singles(reports))


def _side(terms: Terms, random: "Random | None", answered: int) -> "_MechanismSide | FormSide":
    """How reports are made: by the mechanism, or by the form where the survey was read as one."""
    from hearsay.producer.portable.described import Described

    if isinstance(terms, Described):
        from hearsay.producer.portable.side import FormSide

        return FormSide(terms, random, answered)
    from hearsay.collector.survey.survey import Survey

    assert isinstance(terms, Survey)
    return _MechanismSide(terms, random, answered)


def _check_allowed(survey: Terms, tag: str | None, max_epsilon: float | None) -> None:
    """Refuse a survey that the application did not agree to."""
    if tag is not None and survey.tag != tag:
        raise SurveyError(what=f"survey {survey.name}", must=f"have the tag {tag}", got=survey.tag)
    if max_epsilon is not None and not survey.epsilon <= max_epsilon:
        raise SurveyError(
            what="epsilon", expected=f"at most {max_epsilon!r}, which this device allows", got=repr(survey.epsilon)
        )
