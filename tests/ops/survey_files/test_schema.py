"""The schema takes every example and refuses what the parser refuses of keys and types."""

import json
import tomllib
from typing import Any

import jsonschema
import pytest

from hearsay.collector.errors import SurveyError
from hearsay.collector.survey.survey import parse
from hearsay.mechanisms import catalogue
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.options import Option
from hearsay.ops.cli import run
from hearsay.ops.demo.scene import SURVEYS
from hearsay.ops.survey_files.schema import KEYS, survey_schema

SCHEMA = survey_schema()
CHECK = jsonschema.Draft202012Validator(SCHEMA)
GOOD = {"name": "a", "mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 4}}


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", sorted(SURVEYS.glob("*.toml")), ids=lambda path: path.stem)
def test_it_takes_every_example_file(path: Any) -> None:
    CHECK.validate(tomllib.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", catalogue.shipped())
def test_it_takes_every_example_of_a_mechanism_as_given_and_in_canonical_form(name: str) -> None:
    for example in catalogue.examples(name):
        table = {"name": "a", "mechanism": name, **example}
        CHECK.validate(json.loads(json.dumps(table)))
        CHECK.validate(json.loads(json.dumps(parse(table).canonical())))


@pytest.mark.parametrize("kind", [kind.KIND for kind in catalogue.shipped_domains()])
def test_it_knows_the_keys_of_every_kind(kind: str) -> None:
    """A key is in the schema just where the parser does not call it unknown."""
    (case,) = [each["then"] for each in SCHEMA["properties"]["domain"]["allOf"] if _const(each) == kind]
    for key in (*KEYS, "nonsense"):
        try:
            catalogue.parse_domain({"kind": kind, key: None})
            known = True
        except SpecificationError as error:
            known = "unknown key" not in str(error)
        assert (key in case["properties"]) == known, key


def _const(case: dict[str, Any]) -> str:
    return str(case["if"]["properties"]["kind"]["const"])


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Bad Name"},
        {"name": 5},
        {"mechanism": "hrrr"},
        {"epsilon": -1},
        {"epsilon": [1]},
        {"mechansim": "grr"},
        {"domain": {"kind": "categorical", "sise": 4}},
        {"domain": {"kind": "categorical", "size": "four"}},
        {"domain": {"kind": "categorical", "categories": ["a", "a"]}},
        {"domain": {"kind": "nothing"}},
        {"domain": {"size": 4}},
        {"domain": {"kind": "number", "low": 0, "high": 1}},
        {"domain": 5},
        {"options": {"nonsense": 1}},
        {"window": {"evry": "1h"}},
        {"answers": {"minimum_reports": 0}},
        {"answers": {"minimum_reports": "many"}},
        {"participation": {"of": 3}},
        {"rounds": {"reports": 0}},
    ],
    ids=str,
)
def test_it_refuses_what_the_parser_refuses(change: dict[str, Any]) -> None:
    table = {**GOOD, **change}
    with pytest.raises(SurveyError):
        parse(table)
    with pytest.raises(jsonschema.ValidationError):
        CHECK.validate(table)


@pytest.mark.parametrize("key", ["name", "mechanism", "epsilon", "domain"])
def test_it_refuses_what_is_missing(key: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        CHECK.validate({name: value for name, value in GOOD.items() if name != key})


def _all_options() -> list[Any]:
    forms = [form for name in catalogue.shipped() for form in catalogue.classes(name)]
    return [pytest.param(each, id=f"{form.__name__}-{each.name}") for form in forms for each in form.OPTIONS]


@pytest.mark.parametrize("option", _all_options())
def test_the_type_of_an_option_is_what_its_check_takes(option: Option) -> None:
    """Nothing that the check takes is refused; where a type is declared, nothing that the check refuses is taken."""
    schema = jsonschema.Draft202012Validator(dict(option.schema))
    limits = [option.schema.get("minimum"), option.schema.get("maximum"), *option.schema.get("enum", [])]
    beyond = [value + step for value in limits if isinstance(value, int | float) for step in (-1, 1, 0.5)]
    for value in (True, 1, 0.5, -1e9, 1e300, "inf", "nonsense", [], [1], {}, *limits, *beyond):
        if value is None:
            continue
        try:
            option.check(value)
            taken = True
        except SpecificationError:
            taken = False
        whole = isinstance(value, float) and value.is_integer()  # JSON Schema has no 2.0 that is not an integer
        assert schema.is_valid(value) == taken or (whole and not taken) or not option.schema, value


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [("olh", {"t": "four"}), ("olh", {"t": 1.5}), ("olh", {"t": 0}), ("hierarchical", {"fanout": "two"})],
)
def test_it_refuses_options_of_another_type(mechanism: str, options: dict[str, Any]) -> None:
    domain = {"kind": "ordinal" if mechanism == "hierarchical" else "categorical", "size": 16}
    assert not CHECK.is_valid({**GOOD, "mechanism": mechanism, "domain": domain, "options": options})
