"""The client library: a device perturbs its value and hands out bytes; the value goes no further."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hearsay.collector.survey.survey import Survey
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import FIELD_SINGLE
from hearsay.mechanisms.exact.randomness import Random, secure
from hearsay.mechanisms.faces import DeviceSide

if TYPE_CHECKING:  # a device that hands out bytes has no redis
    from hearsay.collector.writer import Writer


class Device:
    """One participant of a survey.

    >>> device = Device({"name": "likes", "mechanism": "hrr", "epsilon": 1.0,
    ...                  "domain": {"kind": "categorical", "categories": ["tea", "coffee"]}})
    >>> isinstance(device.report("tea"), bytes)
    True
    """

    def __init__(self, survey: Survey | Mapping[str, Any] | str | Path, random: Random | None = None) -> None:
        """`survey`: a survey, its table, or its file. `random` is the secure source unless a test names another."""
        self.survey = Survey.of(survey)
        self._random = secure() if random is None else random
        self._mechanism: DeviceSide = self.survey.mechanism
        self._codec = codec(self._mechanism)

    def report(self, value: Any) -> bytes:
        """A private report of one value in the domain's own units; on a grid a mapping or sequence of axis values."""
        reports = self._mechanism.perturb(self._mechanism.domain.one(value), self._random)
        return self._codec.encode_singles(reports)[0]

    def publish(self, value: Any, writer: "Writer") -> None:
        """Report a value straight into the stream, where the device is trusted with it."""
        writer.publish([(FIELD_SINGLE, self.report(value))], 1)
