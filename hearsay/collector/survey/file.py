"""The form of a survey file: which tables and keys there are, and one line for whatever is wrong with them."""

from pathlib import Path
from stat import S_ISREG
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError, field_validator

from hearsay.collector.errors import NotAllowed, SurveyError
from hearsay.collector.survey.participation import REPEATS
from hearsay.collector.survey.windows import seconds
from hearsay.errors import HearsayError, nearest
from hearsay.mechanisms import catalogue
from hearsay.mechanisms.domains.numbers import read_matrix
from hearsay.mechanisms.errors import one_of

_LARGEST_MATRIX = 1 << 26  # bytes: a channel of 1,024 x 1,024 with all its digits has a third of it
DURABLE = ("memory", "disk", "replica")  # where a report is before its writer is told
_SHOWN = 600  # characters of a message: a survey may quote a value of any length


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
        if name != "none" and name not in catalogue.methods():
            raise NotAllowed(expected=f"one of {one_of(catalogue.methods(), name)}", got=repr(name))
        return name


class _Participation(_Table):
    repeat: StrictStr
    of: StrictInt | None = Field(default=None, ge=2, le=1_000_000)
    lifetime_epsilon: float | None = None

    @field_validator("repeat")
    @classmethod
    def _known(cls, repeat: str) -> str:
        if repeat not in REPEATS:
            raise NotAllowed(expected=f"one of {one_of(REPEATS, repeat)}", got=repr(repeat))
        return repeat

    @field_validator("lifetime_epsilon", mode="before")
    @classmethod
    def _number(cls, epsilon: Any) -> Any:
        if epsilon is not None and type(epsilon) not in (int, float):
            raise NotAllowed(expected="a number", got=repr(epsilon))
        return epsilon


class File(_Table):
    """A survey file, its own tables checked; domain and options are the mechanism's to check."""

    name: StrictStr = Field(pattern=r"^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$")
    mechanism: StrictStr
    epsilon: Any
    domain: Any
    options: Any = {}
    window: _Window | None = None
    answers: _Answers = _Answers()
    rounds: _Rounds | None = None
    participation: _Participation | None = None
    durable: StrictStr | None = None

    @field_validator("durable")
    @classmethod
    def _level(cls, level: str | None) -> str | None:
        if level is not None and level not in DURABLE:
            raise NotAllowed(expected=f"one of {one_of(DURABLE, level)}", got=repr(level))
        return level


TABLES: dict[str, type[_Table]] = {
    "window": _Window,
    "answers": _Answers,
    "rounds": _Rounds,
    "participation": _Participation,
}


def checked(table: dict[str, Any]) -> File:
    """The file's fields; SurveyError names the one that is wrong, what is allowed and what was got."""
    try:
        _check_integers(table, "")
        return File.model_validate(table)
    except ValidationError as error:
        raise _explain(error) from None
    except RecursionError:
        raise SurveyError("survey is nested deeper than any survey can be") from None


def with_matrices(table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The table with every option that names a CSV file replaced by what the file holds."""
    options = table.get("options")
    if not isinstance(options, dict):
        return table
    named = {key: text for key, text in options.items() if isinstance(text, str) and text.endswith(".csv")}
    read = {}
    for key, name in named.items():
        try:
            read[key] = read_matrix(_text_beside(folder, name))
        except OSError as error:
            raise SurveyError(printable(f"options.{key}: {folder / name}: {error.strerror or error}")) from None
        except UnicodeDecodeError:
            raise SurveyError(printable(f"options.{key}: {folder / name} is not text in UTF-8")) from None
        except ValueError as error:
            expected = error.expected if isinstance(error, NotAllowed) else None
            wrong = SurveyError(f"options.{key}: {name} {error}", what=f"options.{key}", expected=expected)
            raise shown(wrong) from None
        for line, row in enumerate(read[key], start=1):
            for column, cell in enumerate(row, start=1):
                if isinstance(cell, str) and cell != "inf":  # which may be anything: the file is not ours to quote
                    where = f"{name}, row {line}, column {column}"
                    words = f"options.{key}: {where}: must be a number or inf"
                    raise shown(SurveyError(words, what=f"options.{key}", expected="a number or inf"))
    return {**table, "options": {**options, **read}}


def _text_beside(folder: Path, name: str) -> str:
    """A file in the survey's own folder or below it: a survey that somebody sent must not read what is elsewhere."""
    file = (folder / name).resolve()
    if not file.is_relative_to(folder.resolve()):
        raise NotAllowed(expected="in the folder of the survey file, or below it")
    if not S_ISREG(file.stat().st_mode):  # a pipe would be waited for
        raise NotAllowed(expected="a plain file")
    with file.open("rb") as opened:
        content = opened.read(_LARGEST_MATRIX + 1)
    if len(content) > _LARGEST_MATRIX:
        raise NotAllowed(must=f"have at most {_LARGEST_MATRIX:,} bytes")
    return content.decode("utf-8")


def _check_integers(value: Any, path: str) -> None:
    """Refuse integers that TOML does not have: beyond 64 bits they overflow wherever a float is made of them."""
    if isinstance(value, dict):
        for key, part in value.items():
            _check_integers(part, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for number, part in enumerate(value, start=1):
            _check_integers(part, f"{path}[{number}]")
    elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        bits = f"{value.bit_length()} bits"
        raise shown(SurveyError(what=path, expected="an integer of at most 64 bits", got=bits))


def _explain(error: ValidationError) -> SurveyError:
    every = error.errors()
    # An unknown key comes before one that is missing: it may be the same, misspelt.
    first = next((each for each in every if each["type"] == "extra_forbidden"), every[0])
    location, got = first["loc"], first["input"]
    field = printable(".".join(str(part) for part in location))
    match first["type"]:
        case "missing":
            return SurveyError(f"{field} is missing", what=field, expected="given")
        case "extra_forbidden":
            table, form = ("survey", File) if len(location) == 1 else (str(location[0]), TABLES[str(location[0])])
            allowed, key = one_of(sorted(form.model_fields), location[-1]), repr(location[-1])
            near = nearest(str(location[-1]), form.model_fields, cutoff=0.7)
            meant = f"did you mean {near[0]}? " if near else ""
            text = printable(f"{table} has the unknown key {key}; {meant}allowed: {allowed}")
            return SurveyError(text, what=table, expected=allowed, got=printable(key))
        case "string_pattern_mismatch":
            expected, got = "1 to 64 of a-z, 0-9 and -, not starting or ending with -", repr(got)
        case "model_type":
            expected, got = "a table", type(got).__name__
        case "value_error":
            expected, got = first["ctx"]["error"].expected, first["ctx"]["error"].got
        case _:
            expected, got = first["msg"].removeprefix("Input should be "), repr(got)
    return shown(SurveyError(what=field, expected=expected, got=got))


def shown(error: HearsayError) -> SurveyError:
    """The error of a survey, its text and its fields printable."""
    what, expected, got = (
        None if text is None else printable(text) for text in (error.what, error.expected, error.got)
    )
    return SurveyError(printable(str(error)), what=what, expected=expected, got=got)


def printable(text: str) -> str:
    """The text on one line of bearable length, whatever names and values it quotes."""
    line = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text[:_SHOWN])
    return line if len(text) <= _SHOWN else f"{line} ... ({len(text):,} characters)"
