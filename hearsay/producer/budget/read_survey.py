"""A survey from whatever a device was given: by its definition or, without numpy, by the form in a gateway's answer."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hearsay.producer.budget.terms import Terms
from hearsay.producer.errors import FormError

if TYPE_CHECKING:
    from hearsay.collector.survey.survey import Survey

ANSWER = "definition"  # what the table of a gateway's answer has, and that of a survey has not


def knows_mechanisms() -> bool:
    """Whether this installation can build a mechanism; a small device has the standard library and msgpack only."""
    return all(_is_installed(name) for name in ("numpy", "pydantic"))


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):  # a module that was put out of reach
        return False


def is_address(source: object) -> bool:
    """Whether this is meant as a survey's URL on a gateway, also where it has no http:// or https:// before it.

    A file is none, also in a folder of that name: no survey's name has a point.
    """
    if not isinstance(source, str):
        return False
    _, gateway_path, name = source.rpartition("/v1/surveys/")
    return "://" in source or (bool(gateway_path) and "." not in name)


def read_survey(source: "Survey | Mapping[str, Any] | str | Path") -> Terms:
    """A survey, its table or its file; or what a gateway answered, which is read by its form where it must be."""
    is_answer = isinstance(source, Mapping) and ANSWER in source
    if not knows_mechanisms():
        if not is_answer:
            raise FormError(
                "without numpy and pydantic a device needs the survey's address on a gateway, or what the gateway "
                "answers there; or install them: pip install numpy pydantic"
            )
        from hearsay.producer.portable.described import Described

        return Described.of(source)  # type: ignore[arg-type]
    from hearsay.collector.survey.survey import Survey

    return Survey.of(source[ANSWER] if is_answer else source)  # type: ignore[index]
