"""Survey files: parsed, checked field by field, written out in canonical form, and named by a tag.

The tag is a hash of the canonical form and of the wire version: two parties with the same tag agree on every
probability, every report layout and every state layout. How long results are kept is not part of it.
"""

import hashlib
import json
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError, field_validator

from collector.errors import SurveyError
from collector.windows import seconds
from mechanisms import Mechanism, build
from mechanisms.errors import MechanismError

WIRE_VERSION = 1


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Window(_Table):
    every: StrictStr | None = None
    retain: StrictStr | None = None

    @field_validator("every", "retain")
    @classmethod
    def _duration(cls, text: str | None) -> str | None:
        if text is not None:
            seconds(text)
        return text


class _Answers(_Table):
    minimum_reports: StrictInt = Field(default=1, ge=1)


class _File(_Table):
    name: StrictStr = Field(pattern=r"^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$")
    mechanism: StrictStr
    epsilon: Any
    domain: Any
    options: Any = {}
    window: _Window = _Window()
    answers: _Answers = _Answers()


@dataclass(frozen=True)
class Survey:
    """A question to a population, with everything that devices, workers and estimator must agree on."""

    name: str
    mechanism: Mechanism
    every: str | None
    retain: str | None
    minimum_reports: int

    @property
    def epsilon(self) -> float:
        return self.mechanism.epsilon

    @property
    def every_s(self) -> int | None:
        return None if self.every is None else seconds(self.every)

    @property
    def retain_s(self) -> int | None:
        return None if self.retain is None else seconds(self.retain)

    def canonical(self) -> dict[str, Any]:
        """The survey with every default written out; `parse` accepts it again and gives the same tag."""
        window = {key: value for key, value in (("every", self.every), ("retain", self.retain)) if value is not None}
        return {
            "name": self.name,
            "mechanism": self.mechanism.ID,
            "epsilon": self.mechanism.epsilon,
            "domain": self.mechanism.domain.table(),
            "options": self.mechanism.canonical_options(),
            **({"window": window} if window else {}),
            "answers": {"minimum_reports": self.minimum_reports},
        }

    @cached_property
    def tag(self) -> str:
        """SHA-256 of the canonical form without `retain`, with the wire version."""
        hashed = self.canonical()
        hashed["window"] = {"every": self.every}
        hashed["wire"] = WIRE_VERSION
        return hashlib.sha256(json.dumps(hashed, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    @property
    def tag8(self) -> str:
        """The tag's first eight digits, as Redis keys have them."""
        return self.tag[:8]


def parse(table: dict[str, Any]) -> Survey:
    """A survey from its table; SurveyError names the field, what is allowed and what was got."""
    try:
        file = _File.model_validate(table)
    except ValidationError as error:
        raise SurveyError(_one_line(error)) from None
    try:
        mechanism = build(
            {"mechanism": file.mechanism, "epsilon": file.epsilon, "domain": file.domain, "options": file.options}
        )
    except MechanismError as error:
        raise SurveyError(str(error)) from None
    return Survey(file.name, mechanism, file.window.every, file.window.retain, file.answers.minimum_reports)


def load(path: str | Path) -> Survey:
    """A survey from a TOML file."""
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SurveyError(f"survey file {path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SurveyError(f"survey file {path} is not valid TOML: {error}") from None
    try:
        return parse(table)
    except SurveyError as error:
        raise SurveyError(f"survey file {path}: {error}") from None


def _one_line(error: ValidationError) -> str:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    match first["type"]:
        case "missing":
            return f"{field} is missing"
        case "extra_forbidden":
            return f"unknown key {field!r}"
        case "string_pattern_mismatch":
            return f"{field} must be 1 to 64 of a-z, 0-9 and -, not starting or ending with -, got {first['input']!r}"
        case _:
            message = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
            return f"{field} must be {message.removeprefix('must be ')}, got {first['input']!r}".replace("\n", " ")
