"""Survey files: parsed, checked field by field, written out in canonical form, and named by a tag.

The tag is a hash of the canonical form and of the wire version: two parties with the same tag agree on every
probability, every report layout and every state layout. How long results are kept is not part of it.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError, field_validator

from hearsay.collector.errors import SurveyError
from hearsay.collector.survey.windows import Every, Rounds, Whole, Windows, seconds
from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.context_aware.channel import read_matrix
from hearsay.mechanisms.errors import MechanismError
from hearsay.mechanisms.estimates.postprocess import ISOTONIC, NAMES
from hearsay.mechanisms.planning.auto import resolve

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


class _Rounds(_Table):
    reports: StrictInt | None = Field(default=None, ge=1)
    within: StrictStr | None = None

    @field_validator("within")
    @classmethod
    def _duration(cls, text: str | None) -> str | None:
        if text is not None:
            seconds(text)
        return text


class _Answers(_Table):
    minimum_reports: StrictInt = Field(default=1, ge=1)
    postprocess: StrictStr = "none"

    @field_validator("postprocess")
    @classmethod
    def _method(cls, name: str) -> str:
        if name not in NAMES:
            raise ValueError(f"must be one of {', '.join(NAMES)}, got {name!r}")
        return name


class _File(_Table):
    name: StrictStr = Field(pattern=r"^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$")
    mechanism: StrictStr
    epsilon: Any
    domain: Any
    options: Any = {}
    window: _Window | None = None
    answers: _Answers = _Answers()
    rounds: _Rounds | None = None


_TABLES: dict[str, type[_Table]] = {"window": _Window, "answers": _Answers, "rounds": _Rounds}


@dataclass(frozen=True)
class Survey:
    """A question to a population, with everything that devices, workers and estimator must agree on.

    `reason` says why the mechanism was chosen where the file left that open; `history` holds what earlier rounds made
    public. Neither is part of the definition.
    """

    name: str
    mechanism: Mechanism
    every: str | None
    retain: str | None
    minimum_reports: int
    postprocess: str = "none"
    reason: str | None = field(default=None, compare=False)
    round_reports: int | None = None
    round_within: str | None = None
    history: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, source: "Survey | Mapping[str, Any] | str | Path") -> "Survey":
        """A survey from its table or its TOML file; a survey is itself. SurveyError says what is wrong with it.

        >>> Survey.of({"name": "likes", "mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "binary"}}).epsilon
        1.0
        """
        if isinstance(source, str | Path):
            return load(source)
        return parse(dict(source)) if isinstance(source, Mapping) else source

    @property
    def epsilon(self) -> float:
        return self.mechanism.epsilon

    @cached_property
    def windows(self) -> Windows:
        """How its reports fall into windows."""
        if self.mechanism.rounds > 1:
            return Rounds(self.round_reports, None if self.round_within is None else seconds(self.round_within))
        return Whole() if self.every is None else Every(seconds(self.every))

    @property
    def retain_s(self) -> int | None:
        return None if self.retain is None else seconds(self.retain)

    def in_round(self, history: Sequence[Mapping[str, Any]]) -> "Survey":
        """The survey as it stands in round `len(history) + 1`; its definition and tag stay."""
        return replace(self, mechanism=self.mechanism.in_round(history), history=tuple(history)) if history else self

    def canonical(self) -> dict[str, Any]:
        """The survey with every default written out; `parse` accepts it again and gives the same tag."""
        window = _given(every=self.every, retain=self.retain)
        rounds = _given(reports=self.round_reports, within=self.round_within)
        return {
            "name": self.name,
            "mechanism": self.mechanism.ID,
            "epsilon": self.mechanism.epsilon,
            "domain": self.mechanism.domain.table(),
            "options": self.mechanism.canonical_options(),
            **({"window": window} if window else {}),
            **({"rounds": rounds} if rounds else {}),
            "answers": {"minimum_reports": self.minimum_reports, "postprocess": self.postprocess},
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
    _check_integers(table, "")
    try:
        file = _File.model_validate(table)
    except ValidationError as error:
        raise SurveyError(_printable(_explain(error))) from None
    chosen = {"mechanism": file.mechanism, "epsilon": file.epsilon, "domain": file.domain, "options": file.options}
    reason = None
    try:
        if file.mechanism == "auto":
            chosen, reason = resolve(chosen)
        mechanism = build(chosen)
        _ = mechanism.layout, mechanism.arrays  # parts of it, such as an oracle a level, are checked when first used
    except MechanismError as error:
        raise SurveyError(_printable(str(error))) from None
    kind = mechanism.domain.kind
    if file.answers.postprocess == ISOTONIC and kind not in ("ordinal", "count"):
        raise SurveyError(f"answers.postprocess isotonic needs an ordinal domain, got {kind!r}")
    if file.rounds is not None and mechanism.rounds == 1:
        raise SurveyError(f"rounds must be left out for mechanism {mechanism.ID}, which has none")
    if file.window is not None and (file.rounds is not None or mechanism.rounds > 1):
        raise SurveyError("window and rounds exclude each other: a survey with rounds has a window a round")
    window, rounds = file.window or _Window(), file.rounds or _Rounds()
    return Survey(
        file.name,
        mechanism,
        window.every,
        window.retain,
        file.answers.minimum_reports,
        file.answers.postprocess,
        reason,
        rounds.reports,
        rounds.within,
    )


def load(path: str | Path) -> Survey:
    """A survey from a TOML file; a matrix among its options may stand in a CSV file beside it."""
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SurveyError(f"survey file {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or nested or long beyond reason
        raise SurveyError(f"survey file {path} is not valid TOML: {_printable(str(error))}") from None
    try:
        return parse(_with_matrices(table, Path(path).parent))
    except SurveyError as error:
        raise SurveyError(f"survey file {path}: {error}") from None


def _with_matrices(table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The table with every option that names a CSV file replaced by what the file holds."""
    options = table.get("options")
    if not isinstance(options, dict):
        return table
    named = {key: text for key, text in options.items() if isinstance(text, str) and text.endswith(".csv")}
    read = {}
    for key, name in named.items():
        try:
            read[key] = read_matrix((folder / name).read_text(encoding="utf-8"))
        except OSError as error:
            raise SurveyError(_printable(f"options.{key}: {folder / name}: {error.strerror or error}")) from None
        except ValueError:
            raise SurveyError(_printable(f"options.{key}: {folder / name} is not text in UTF-8")) from None
    return {**table, "options": {**options, **read}}


def _given(**values: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _check_integers(value: Any, path: str) -> None:
    """Refuse integers that TOML does not have: beyond 64 bits they overflow wherever a float is made of them."""
    if isinstance(value, dict):
        for key, part in value.items():
            _check_integers(part, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for number, part in enumerate(value, start=1):
            _check_integers(part, f"{path}[{number}]")
    elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise SurveyError(_printable(f"{path} must be an integer of at most 64 bits, got {value.bit_length()} bits"))


def _explain(error: ValidationError) -> str:
    first = error.errors()[0]
    location, got = first["loc"], first["input"]
    field = ".".join(str(part) for part in location)
    match first["type"]:
        case "missing":
            return f"{field} is missing"
        case "extra_forbidden":
            holder, allowed = ("survey", _File) if len(location) == 1 else (location[0], _TABLES[str(location[0])])
            return f"{holder} has the unknown key {location[-1]!r}; allowed: {', '.join(sorted(allowed.model_fields))}"
        case "string_pattern_mismatch":
            return f"{field} must be 1 to 64 of a-z, 0-9 and -, not starting or ending with -, got {got!r}"
        case "model_type":
            return f"{field} must be a table, got {type(got).__name__}"
        case "value_error":
            return f"{field} {first['ctx']['error']}"
        case _:
            return f"{field} must be {first['msg'].removeprefix('Input should be ')}, got {got!r}"


def _printable(text: str) -> str:
    """The text on one line, whatever names it quotes."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
