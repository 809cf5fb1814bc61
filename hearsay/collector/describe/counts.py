"""What the matrix of a survey of counts is like: its properties, its pathologies, and a picture in text."""

from typing import Any

from hearsay.mechanisms import Mechanism
from hearsay.mechanisms.counts.design import facts
from hearsay.mechanisms.counts.heat_map import heat_map
from hearsay.mechanisms.counts.mechanism import CountMechanism


def matrix(mechanism: Mechanism) -> dict[str, Any]:
    """`properties`, `warnings` and `heat_map` of a survey of counts; nothing for other surveys."""
    if not isinstance(mechanism, CountMechanism):
        return {}
    known = facts(mechanism.design, mechanism.whole)
    return {
        "properties": list(known.properties),
        "warnings": list(known.warnings),
        "heat_map": heat_map(mechanism.channel().T),
    }
