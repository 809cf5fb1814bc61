"""What a device without this library needs to make reports, as data. `docs/how-to/devices.md` specifies it.

The thresholds are the mechanism's own, asked once; whoever reads the form computes no probability.
"""

from typing import Any

from hearsay.collector.survey.participation import MEMOISED
from hearsay.collector.survey.survey import Survey
from hearsay.collector.wire.codec import codec
from hearsay.mechanisms.errors import NotPortable

VERSION = 1


def device_form(survey: Survey) -> dict[str, Any]:
    """`device`: the form, or None; `device_reason`: why there is none."""
    try:
        return {"device": form(survey), "device_reason": None}
    except NotPortable as error:
        return {"device": None, "device_reason": str(error)}


def form(survey: Survey) -> dict[str, Any]:
    """How values become cells, cells become symbols, and symbols become bytes; NotPortable says why there is none."""
    if survey.windows.in_rounds:
        raise NotPortable("a survey with rounds has no form for other languages; use Python's Device")
    if survey.participation.repeat == MEMOISED:
        raise NotPortable("a memoised survey has no form for other languages; use Python's Device with a ledger")
    mechanism = survey.mechanism
    return {
        "version": VERSION,
        "axes": mechanism.domain.portable(),
        "draw": mechanism.portable(),
        "bytes": codec(mechanism).portable(),
    }
