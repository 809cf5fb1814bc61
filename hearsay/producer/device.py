"""The client library: a device perturbs its value and returns a report as bytes; the value stays on the device."""

from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from hearsay.collector.errors import OfferRefused
from hearsay.collector.survey.offers import Offer
from hearsay.collector.survey.survey import Survey
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import FIELD_SINGLE
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.randomness import Random, secure
from hearsay.mechanisms.roles import DeviceSide

if TYPE_CHECKING:  # a device that only makes reports has no redis
    from hearsay.collector.writer import Writer


class Device:
    """One participant of a survey.

    >>> device = Device({"name": "likes", "mechanism": "hrr", "epsilon": 1.0,
    ...                  "domain": {"kind": "categorical", "categories": ["tea", "coffee"]}})
    >>> isinstance(device.report("tea"), bytes)
    True
    """

    def __init__(
        self, survey: Survey | Mapping[str, Any] | str | Path, random: Random | None = None, *, answered: int = 0
    ) -> None:
        """`survey`: a survey, its table, or its file. `random` is the secure source unless a test names another.

        `answered` is the last round that this device answered: a program must store it and pass it after a restart.
        """
        self.survey = Survey.of(survey)
        self._random = secure() if random is None else random
        self._mechanism: DeviceSide = self.survey.mechanism
        self._codec = codec(self._mechanism)
        last = self.survey.mechanism.rounds
        if type(answered) is not int or not 0 <= answered <= last:
            # With a wrong number the device would answer a round twice, or none at all, without an error.
            raise SpecificationError(f"answered must be an integer in 0..{last}, got {answered!r}")
        self._answered = answered
        self._lock = Lock()

    def report(self, value: Any, round: Mapping[str, Any] | None = None) -> bytes:
        """A private report of one value in the domain's own units; on a grid a mapping or sequence of axis values.

        If the survey has rounds, `round` is the offer of the open round (None: the first round). Each round is answered
        once, in rising order, whatever the value; otherwise OfferRefused states the reason. To retry, send the same
        bytes again.
        """
        return self._report(value, round)[0]

    def _report(self, value: Any, round: Mapping[str, Any] | None) -> tuple[bytes, int | None]:
        """The report, and the round that it answers where the survey has rounds."""
        held = self._mechanism.domain.one(value)
        if round is None and not self.survey.windows.in_rounds:
            return self._codec.encode_singles(self._mechanism.perturb(held, self._random))[0], None
        offer = Offer(self.survey.tag, 1, {}) if round is None else Offer.parse(round)
        with self._lock:  # of several threads with one offer only the first answers it
            before = self._answered
            mechanism: DeviceSide = offer.accepted(self.survey, before).mechanism
            self._answered = offer.number  # recorded before anything is drawn, whatever stops the thread afterwards
            try:
                reports = mechanism.perturb(held, self._random)
            except SpecificationError as error:  # parameters that no round has: nothing was answered
                self._answered = before
                raise OfferRefused(str(error)) from None
        return codec(mechanism).encode_singles(reports)[0], offer.number

    @property
    def answered(self) -> int:
        """The last round that was answered, 0 for none. Store it and pass it to the next `Device` of the same
        survey."""
        return self._answered

    def publish(self, value: Any, writer: "Writer", round: Mapping[str, Any] | None = None) -> None:
        """Report a value and append it to the stream; only for devices that may write to the stream."""
        report, number = self._report(value, round)
        writer.publish([(FIELD_SINGLE, report)], 1, number if self.survey.windows.in_rounds else None)
