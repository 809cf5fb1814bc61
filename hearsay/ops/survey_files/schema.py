"""`hearsay schema`: the JSON Schema of a survey file, for editors and for other programs.

Written from the tables that the parser reads: the file's own tables, the keys of every kind of domain and the options
of every mechanism. What no schema can see (an epsilon too large for a mechanism, labels that repeat across axes) is
left to `hearsay validate`.
"""

import re
from typing import Any

import click

from hearsay.collector.survey.file import TABLES, File
from hearsay.mechanisms import catalogue
from hearsay.mechanisms.options import Option
from hearsay.ops.config import Settings
from hearsay.ops.terminal.options import uses
from hearsay.ops.terminal.present import print_json

DRAFT = "https://json-schema.org/draft/2020-12/schema"
LABELS = {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 2, "uniqueItems": True}
COUNT = {"type": "integer", "minimum": 1}
AXIS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "size": {"type": "integer", "minimum": 2},
        "categories": LABELS,
        "first": {"type": "integer"},
        "last": {"type": "integer"},
        "low": {"type": "number"},
        "high": {"type": "number"},
        "bins": {"type": "integer", "minimum": 2},
    },
    "additionalProperties": False,
}
AXES = {"type": "array", "items": AXIS, "minItems": 1}
# The type of each key of a `[domain]` table, whatever the kind; which kinds have it is read from the kinds themselves.
KEYS: dict[str, Any] = {
    **AXIS["properties"],
    "max": COUNT,
    "blocks": {"anyOf": [COUNT, {"type": "array", "items": {"type": "array", "minItems": 1}, "minItems": 1}]},
    "sensitive": {"type": "array", "minItems": 1},
    "sizes": {"type": "array", "items": {"type": "integer", "minimum": 2}, "minItems": 1},
    "axes": AXES,
    "attributes": AXES,
    "names": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    "labels": {"type": "array"},
    "order": COUNT,
    "keys": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "array", "minItems": 1}]},
    "values": {"anyOf": [{"type": "boolean"}, {"type": "array"}]},
    "ordered": {"type": "boolean"},
    "pairs": COUNT,
    "length": COUNT,
    "alphabet": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    "overlong": {"type": "string"},
}


@click.command()
@uses("plugins")
def command(settings: Settings) -> None:
    """Print the JSON Schema of a survey file.

    Editors check a file against it: write it to `survey.schema.json` and put `#:schema ./survey.schema.json` in the
    first line of the survey.
    """
    print_json(survey_schema())


def survey_schema() -> dict[str, Any]:
    """The schema, with one case for each kind of domain and for each mechanism."""
    properties = {name: _table(TABLES[name]) if name in TABLES else {} for name in File.model_fields}
    properties |= {
        "name": {"type": "string", "pattern": "^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$"},
        "mechanism": {"enum": ["auto", *catalogue.names()], "description": "An id, or auto: the least error."},
        "epsilon": {
            "anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string"}],
            "description": "What one participation shows of a value, all rounds included; 0.5 to 4 are usual.",
        },
        "domain": {
            "type": "object",
            "required": ["kind"],
            "properties": {"kind": {"enum": list(catalogue.DOMAINS)}},
            "allOf": [_case("kind", kind, _domain(kind)) for kind in catalogue.DOMAINS],
        },
        "options": {"type": "object", "description": "The mechanism's own."},
    }
    return {
        "$schema": DRAFT,
        "title": "A hearsay survey",
        "type": "object",
        "required": ["name", "mechanism", "epsilon", "domain"],
        "properties": properties,
        "additionalProperties": False,
        "allOf": [_case("mechanism", name, {"properties": {"options": _options(name)}}) for name in catalogue.names()]
        + [_case("mechanism", name, {"properties": {"domain": _kinds(name)}}) for name in catalogue.names()],
    }


def _case(key: str, value: str, then: dict[str, Any]) -> dict[str, Any]:
    return {"if": {"properties": {key: {"const": value}}, "required": [key]}, "then": then}


def _table(form: Any) -> dict[str, Any]:
    """A table of the file, as pydantic writes it, without the names of our classes."""
    schema: dict[str, Any] = form.model_json_schema()
    schema.pop("title", None)
    for entry in schema.get("properties", {}).values():
        entry.pop("title", None)
    return schema


def _domain(kind: str) -> dict[str, Any]:
    """The keys that a kind of domain has: those that its class names in the documentation."""
    words = re.sub(r"`\[\[domain\.(\w+)\]\]`[^;]*", r"`\1`", catalogue.DOMAINS[kind].load().KEYS)
    named = {name: KEYS.get(name, {}) for name in re.findall(r"`([a-z_]+)`", words)}
    return {"properties": {"kind": {}, **named}, "additionalProperties": False}


def _options(name: str) -> dict[str, Any]:
    """The options of every form of a mechanism, each with its type, its limits, its help and its default."""
    declared: dict[str, list[Option]] = {}
    for option in (option for form in catalogue.classes(name) for option in form.OPTIONS):
        declared.setdefault(option.name, []).append(option)
    return {
        "type": "object",
        "properties": {each: _option(options) for each, options in declared.items()},
        "additionalProperties": False,
    }


def _option(forms: list[Option]) -> dict[str, Any]:
    """One option; where forms of a mechanism differ in what they take, what any of them takes."""
    last = forms[-1]
    schemas = [dict(option.schema) for option in forms]
    different = [schema for number, schema in enumerate(schemas) if schema not in schemas[:number]]
    taken = {"anyOf": different} if len(different) > 1 else different[0]
    default = {} if last.default is None else {"default": last.default}
    return {"description": last.help, **default, **taken}


def _kinds(name: str) -> dict[str, Any]:
    return {"properties": {"kind": {"enum": list(catalogue.kinds(name))}}}
