"""A survey as its gateway describes it: all that a device with a ledger needs that follows the form."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from hearsay.collector.survey.participation import Participation
from hearsay.collector.survey.windows import Windows, by_time
from hearsay.producer.errors import FormError
from hearsay.producer.portable.form import Form

WIRE_VERSION = 1
PURE = "pure"


@dataclass(frozen=True)
class Described:
    """Read from the answer to `GET /v1/surveys/{name}`. `epsilon` is what a report spends: what the survey says, or
    more where the thresholds themselves spend more."""

    name: str
    tag: str
    epsilon: float
    windows: Windows
    participation: Participation
    form: Form
    answer: Mapping[str, Any]

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> "Described":
        """FormError where it has no form, or where its parts do not belong together."""
        if answer.get("device") is None:
            reason = str(answer.get("device_reason") or "the gateway sent none")
            raise FormError(f"the survey has no form ({reason}); install numpy and pydantic beside hearsay")
        form = Form.of(answer["device"])
        try:
            definition, stated = answer["definition"], answer["participation"]
            every = (definition.get("window") or {}).get("every")
            epsilon = float(definition["epsilon"])
            described = cls(
                str(definition["name"]),
                str(answer["tag"]),
                max(epsilon, form.epsilon) if answer["guarantee"]["kind"] == PURE else epsilon,
                by_time(every),
                Participation(*(stated.get(key) for key in ("repeat", "of", "lifetime_epsilon", "stated"))),
                form,
                {key: answer[key] for key in ("definition", "tag", "guarantee", "participation", "device")},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormError(f"the gateway's answer is damaged: {type(error).__name__}; ask it again") from None
        if described.tag != _tag(definition):
            raise FormError("the gateway's answer has a tag that is not its definition's; ask it again")
        described.participation.check(described.epsilon, described.windows)
        return described

    @property
    def tag8(self) -> str:
        return self.tag[:8]

    @property
    def memoised_buckets(self) -> None:
        """A memoised survey has no form."""
        return

    def canonical(self) -> dict[str, Any]:
        """What the ledger keeps, to open it while the gateway is away."""
        return dict(self.answer)


def _tag(definition: Mapping[str, Any]) -> str:
    """As `Survey.tag`: the definition without `retain`, with the wire version."""
    every = (definition.get("window") or {}).get("every")
    hashed = {**definition, "window": {"every": every}, "wire": WIRE_VERSION}
    return sha256(json.dumps(hashed, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
