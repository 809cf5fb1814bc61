"""A survey as its gateway describes it: all that a device with a ledger needs that follows the form."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hearsay.collector.survey.participation import Participation, is_within
from hearsay.collector.survey.tags import tag_of
from hearsay.collector.survey.windows import Windows, windows_of
from hearsay.producer.errors import FormError
from hearsay.producer.portable.form import Form

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
            epsilon, is_pure = float(definition["epsilon"]), answer["guarantee"]["kind"] == PURE
            described = cls(
                str(definition["name"]),
                str(answer["tag"]),
                form.epsilon if is_pure and not is_within(form.epsilon, epsilon) else epsilon,
                windows_of(definition.get("window") or {}),
                Participation(*(stated.get(key) for key in ("repeat", "of", "lifetime_epsilon", "stated"))),
                form,
                {key: answer[key] for key in ("definition", "tag", "guarantee", "participation", "device")},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormError(f"the gateway's answer is damaged: {type(error).__name__}; ask it again") from None
        if described.tag != tag_of(definition):
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
