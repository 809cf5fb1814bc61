"""Survey files: every mistake is one line with field, allowed and got; the canonical form and its tag are stable."""

import copy
import datetime
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.errors import SurveyError
from collector.survey import _TABLES, _File, load, parse
from mechanisms import REGISTRY
from mechanisms.domain import _PARSERS
from mechanisms.errors import ValueOutsideDomain
from ops.toml import dump
from tests.mechanisms.shared import CASES, Case

COMPLETE: dict[str, Any] = {
    "name": "drinks",
    "mechanism": "olh",
    "epsilon": 1.1,
    "domain": {"kind": "categorical", "categories": ["tea", "coffee", "water", "milk", "juice"]},
    "options": {"t": 2},
    "window": {"every": "1h", "retain": "30d"},
    "answers": {"minimum_reports": 100},
}
SIZED = {"kind": "categorical", "size": 6}
BINNED = {"kind": "ordinal", "low": 0.0, "high": 10.0, "bins": 5}


def changed(path: str, value: Any, table: dict[str, Any] | None = None) -> dict[str, Any]:
    """The complete survey with one field changed; `...` takes it away."""
    result = copy.deepcopy(COMPLETE if table is None else table)
    *parents, last = path.split(".")
    holder = result
    for parent in parents:
        holder = holder[parent]
    if value is ...:
        del holder[last]
    else:
        holder[last] = value
    return result


def error_of(table: dict[str, Any]) -> str:
    with pytest.raises(SurveyError) as caught:
        parse(table)
    message = str(caught.value)
    assert message.isprintable(), "an error must be one line"
    return message


NAMES = "1 to 64 of a-z, 0-9 and -, not starting or ending with -"
KINDS = ", ".join(_PARSERS)
DURATION = "must be a number above 0 and one of s, m, h, d, such as 1h"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("name", ..., "name is missing"),
        ("name", 5, "name must be a valid string, got 5"),
        ("name", "", f"name must be {NAMES}, got ''"),
        ("name", "Drinks", f"name must be {NAMES}, got 'Drinks'"),
        ("name", "-drinks", f"name must be {NAMES}, got '-drinks'"),
        ("name", "drinks-", f"name must be {NAMES}, got 'drinks-'"),
        ("name", "a" * 65, f"name must be {NAMES}, got '{'a' * 65}'"),
        ("name", "a}b", f"name must be {NAMES}, got 'a}}b'"),
        ("name", "drinks\n", f"name must be {NAMES}, got 'drinks\\n'"),
        ("mechanism", ..., "mechanism is missing"),
        ("mechanism", ["olh"], "mechanism must be a valid string, got ['olh']"),
        ("epsilon", ..., "epsilon is missing"),
        ("epsilon", "1.1", "epsilon must be finite and > 0, got '1.1'"),
        ("epsilon", True, "epsilon must be finite and > 0, got True"),
        ("epsilon", float("nan"), "epsilon must be finite and > 0, got nan"),
        ("epsilon", float("inf"), "epsilon must be finite and > 0, got inf"),
        ("epsilon", 0, "epsilon must be > 0 and at most 50, got 0"),
        ("epsilon", -1.0, "epsilon must be > 0 and at most 50, got -1.0"),
        ("epsilon", 51, "epsilon must be > 0 and at most 50, got 51"),
        ("epsilon", 10**400, "epsilon must be an integer of at most 64 bits, got 1329 bits"),
        ("domain", ..., "domain is missing"),
        ("domain", 6, "domain must be a table, got int"),
        ("domain", {}, f"domain.kind must be one of {KINDS}, got None"),
        ("domain", {"kind": "colours"}, f"domain.kind must be one of {KINDS}, got 'colours'"),
        ("domain", {"kind": ["grid"]}, f"domain.kind must be one of {KINDS}, got ['grid']"),
        ("domain", {"kind": "categorical"}, "domain must have exactly one of size, categories"),
        ("domain.size", 5, "domain must have exactly one of size, categories"),
        ("domain", SIZED | {"size": 1}, "domain.size must be an integer in 2..268435456, got 1"),
        ("domain", SIZED | {"size": 6.0}, "domain.size must be an integer in 2..268435456, got 6.0"),
        ("domain", SIZED | {"size": True}, "domain.size must be an integer in 2..268435456, got True"),
        ("domain", SIZED | {"size": 1 << 63}, "domain.size must be an integer of at most 64 bits, got 64 bits"),
        ("domain", SIZED | {"blocks": 7}, "domain.blocks must be a block size in 1..6, got 7"),
        ("domain", SIZED | {"blocks": []}, "domain.blocks must be a list that is not empty, got []"),
        (
            "domain",
            SIZED | {"blocks": [[0, 1], [1, 2]]},
            "domain.blocks must hold every value of the domain exactly once",
        ),
        ("domain", SIZED | {"blocks": [[[0, 1]]]}, "domain.blocks must hold values of the domain, got [0, 1]"),
        ("domain", SIZED | {"sensitive": [6]}, "domain.sensitive must hold values of the domain, got 6"),
        ("domain", SIZED | {"sensitive": [1, 1]}, "domain.sensitive must not name a value twice"),
        ("domain.categories", "tea", "domain.categories must be a list that is not empty, got 'tea'"),
        ("domain.categories", ["tea"], "domain.categories must have at least 2 labels, got 1"),
        ("domain.categories", ["tea", "tea"], "domain.categories must be different texts that are not empty"),
        ("domain.categories", ["tea", 5], "domain.categories must be different texts that are not empty"),
        (
            "domain.colour",
            1,
            "domain has the unknown key 'colour'; allowed: blocks, categories, kind, sensitive, size",
        ),
        ("domain", BINNED | {"bins": 1}, "domain.bins must be an integer in 2..268435456, got 1"),
        ("domain", BINNED | {"low": "0"}, "domain.low must be a finite number, got '0'"),
        ("domain", BINNED | {"high": float("inf")}, "domain.high must be a finite number, got inf"),
        ("domain", BINNED | {"low": 10}, "domain.low must be below domain.high, got 10 and 10"),
        (
            "domain",
            {"kind": "ordinal", "size": 5, "low": 0},
            "domain.low goes with bins, not with size",
        ),
        (
            "domain",
            {"kind": "binary", "categories": ["a", "b", "c"]},
            "domain.categories of a binary domain must be two labels, got 3",
        ),
        ("domain", {"kind": "grid"}, "domain of kind grid must have exactly one of sizes, axes"),
        ("domain", {"kind": "grid", "sizes": 5}, "domain.sizes must be a list that is not empty, got 5"),
        ("domain", {"kind": "grid", "axes": [3]}, "domain.axes[1] must be a table, got int"),
        (
            "domain",
            {"kind": "grid", "axes": [{"name": "", "size": 3}]},
            "domain.axes[1].name must be a text, got ''",
        ),
        (
            "domain",
            {"kind": "grid", "axes": [{"name": "a", "size": 3}, {"name": "a", "size": 3}]},
            "domain.axes must have different names",
        ),
        (
            "domain",
            {"kind": "grid", "axes": [{"size": 3, "colour": 1}]},
            "domain.axes[1] has the unknown key 'colour'; allowed: bins, categories, high, low, name, size",
        ),
        (
            "domain",
            {"kind": "grid", "sizes": [1 << 20, 1 << 20]},
            "domain must have at most 268435456 cells, got 1099511627776",
        ),
        ("options", 5, "options must be a table, got int"),
        ("options.tt", 5, "options has the unknown key 'tt'; allowed: t, variant"),
        ("options.t", 0, "options.t must be an integer in 1..8, got 0"),
        ("options.t", "2", "options.t must be an integer in 1..8, got '2'"),
        ("window", "1h", "window must be a table, got str"),
        ("window.evry", "1h", "window has the unknown key 'evry'; allowed: every, retain"),
        ("window.every", 60, "window.every must be a valid string, got 60"),
        ("window.every", "1 h", f"window.every {DURATION}, got '1 h'"),
        ("window.every", "0h", f"window.every {DURATION}, got '0h'"),
        ("window.retain", "month", f"window.retain {DURATION}, got 'month'"),
        ("answers", [], "answers must be a table, got list"),
        ("answers.minimum", 5, "answers has the unknown key 'minimum'; allowed: minimum_reports, postprocess"),
        ("answers.minimum_reports", 0, "answers.minimum_reports must be greater than or equal to 1, got 0"),
        ("answers.minimum_reports", "9", "answers.minimum_reports must be a valid integer, got '9'"),
        ("answers.minimum_reports", True, "answers.minimum_reports must be a valid integer, got True"),
        (
            "answers.postprocess",
            "round",
            "answers.postprocess must be one of none, clip, norm-sub, simplex, got 'round'",
        ),
        ("answers.postprocess", True, "answers.postprocess must be a valid string, got True"),
        (
            "colour",
            "red",
            "survey has the unknown key 'colour'; allowed: answers, domain, epsilon, mechanism, name, options, window",
        ),
    ],
)
def test_a_mistake_is_named_with_what_is_allowed_and_what_was_got(path: str, value: Any, message: str) -> None:
    assert error_of(changed(path, value)) == message


def test_an_unknown_mechanism_is_told_what_there_is() -> None:
    known = ", ".join(sorted(REGISTRY))
    assert error_of(changed("mechanism", "magic")) == f"mechanism must be one of {known}, got 'magic'"


def test_a_mechanism_refuses_domains_that_it_cannot_serve() -> None:
    table = changed("mechanism", "metric-l1")
    assert error_of(table) == "domain.kind must be one of ordinal, grid for mechanism metric-l1, got 'categorical'"


def paths(table: dict[str, Any], before: str = "") -> Iterator[str]:
    for key, value in table.items():
        yield before + key
        if isinstance(value, dict):
            yield from paths(value, f"{before}{key}.")


def complete(case: Case) -> dict[str, Any]:
    """An example of a mechanism as a survey with every table."""
    extra = {"name": "example", "window": {"every": "1h"}, "answers": {"minimum_reports": 5}}
    return {"options": {}, **copy.deepcopy(case.table), **extra}


NASTY = [
    None,
    True,
    -1,
    0,
    2,
    3.5,
    float("nan"),
    float("-inf"),
    10**30,
    10**5_000,
    "",
    "inf",
    "two\nlines",
    [],
    [[0, 1]],
    [["a", 1], {}],
    {},
    {"a\nb": 10**400},
    b"bytes",
    datetime.date(2025, 1, 31),
    ...,
]


AUTO = Case("auto", {"mechanism": "auto", "epsilon": 1.0, "domain": SIZED})


@pytest.mark.parametrize("case", [*CASES, AUTO], ids=lambda case: case.name)
def test_nothing_but_a_survey_error_comes_out_of_any_field(case: Case) -> None:
    table, messages = complete(case), []
    for path in paths(table):
        for value in NASTY:
            try:
                parse(changed(path, value, table))
            except SurveyError as error:
                messages.append(str(error))
    assert len(messages) > len(NASTY)
    assert all(message.isprintable() and len(message) < 2_000 for message in messages)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_unknown_keys_are_refused_at_every_level(case: Case) -> None:
    table = complete(case)
    for path in ("colour", "domain.colour", "options.colour", "window.colour", "answers.colour"):
        assert "unknown key 'colour'; allowed: " in error_of(changed(path, 1, table))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_canonical_form_is_the_same_survey(case: Case, tmp_path: Path) -> None:
    survey = parse(complete(case))
    again = parse(survey.canonical())
    assert again.canonical() == survey.canonical()
    assert again.tag == survey.tag
    assert again.mechanism.layout == survey.mechanism.layout
    assert again.mechanism.arrays == survey.mechanism.arrays
    file = tmp_path / "survey.toml"
    file.write_text(dump(survey.canonical()), encoding="utf-8")
    assert load(file).tag == survey.tag


def test_defaults_are_written_out() -> None:
    short = {"name": "short", "mechanism": "olh", "epsilon": 1, "domain": {"kind": "grid", "sizes": [3, 2]}}
    assert parse(short).canonical() == {
        "name": "short",
        "mechanism": "olh",
        "epsilon": 1.0,
        "domain": {"kind": "grid", "axes": [{"name": "axis1", "size": 3}, {"name": "axis2", "size": 2}]},
        "options": {"t": 2, "variant": "hashing"},
        "answers": {"minimum_reports": 1, "postprocess": "none"},
    }


def test_defaults_written_or_not_give_the_same_tag() -> None:
    short = {key: COMPLETE[key] for key in ("name", "mechanism", "epsilon", "domain")}
    written = short | {
        "options": {"t": 2, "variant": "hashing"},
        "window": {},
        "answers": {"minimum_reports": 1, "postprocess": "none"},
    }
    assert parse(short).tag == parse(written).tag


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("name", "drink"),
        ("mechanism", "hrr"),
        ("epsilon", 1.1000000000000003),
        ("domain.categories", ["tea", "coffee", "water", "juice", "milk"]),
        ("domain.sensitive", ["tea"]),
        ("domain.kind", "ordinal"),
        ("options.t", 1),
        ("window.every", "2h"),
        ("window.every", ...),
        ("answers.minimum_reports", 101),
        ("answers.minimum_reports", ...),
        ("answers.postprocess", "simplex"),
    ],
)
def test_every_other_field_changes_the_tag(path: str, value: Any) -> None:
    assert parse(changed(path, value)).tag != parse(COMPLETE).tag


def test_auto_is_resolved_and_says_why() -> None:
    survey = parse(changed("mechanism", "auto", changed("options", {})))
    assert survey.mechanism.ID != "auto"
    assert survey.reason is not None
    assert survey.reason.startswith(survey.mechanism.ID)
    assert "auto" not in str(survey.canonical())
    again = parse(survey.canonical())
    assert (again, again.tag) == (survey, survey.tag)
    assert again.reason is None, "the reason is no part of the definition"


def test_auto_leaves_no_option_to_choose() -> None:
    assert error_of(changed("mechanism", "auto")) == 'options must be empty where mechanism is "auto", got t'


@pytest.mark.parametrize("retain", ["1d", ...])
def test_how_long_results_are_kept_does_not_change_the_tag(retain: Any) -> None:
    survey = parse(changed("window.retain", retain))
    assert survey.tag == parse(COMPLETE).tag
    assert survey.retain_s == (86_400 if retain == "1d" else None)


def test_the_wire_version_is_part_of_the_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    before = parse(COMPLETE).tag
    monkeypatch.setattr("collector.survey.WIRE_VERSION", 2)
    assert parse(COMPLETE).tag != before


def test_a_survey_knows_its_numbers() -> None:
    survey = parse(COMPLETE)
    assert (survey.name, survey.epsilon, survey.every_s, survey.retain_s) == ("drinks", 1.1, 3_600, 2_592_000)
    assert survey.minimum_reports == 100
    assert survey.tag.startswith(survey.tag8)
    assert len(survey.tag8) == 8


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name = ", "is not valid TOML: "),
        (b"name = 'a'\nname = 'b'", "is not valid TOML: "),
        (b"name = '\xff'", "is not valid TOML: "),
        (b"epsilon = " + b"1" * 5_000, "is not valid TOML: "),
        (b"domain = " + b"[" * 100_000, "is not valid TOML: "),
        (b"", "name is missing"),
        (b"name = 'a'", "mechanism is missing"),
    ],
    ids=["cut off", "twice", "not UTF-8", "too long", "too deep", "empty", "lacking"],
)
def test_a_bad_file_is_one_line_with_its_path(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_bytes(content)
    with pytest.raises(SurveyError) as caught:
        load(file)
    assert str(caught.value).startswith(f"survey file {file}")
    assert message in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_missing_file_and_a_directory_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(SurveyError, match=r"survey file .*nowhere\.toml: No such file or directory"):
        load(tmp_path / "nowhere.toml")
    with pytest.raises(SurveyError, match="Is a directory"):
        load(tmp_path)


@pytest.mark.parametrize("domain", [SIZED, BINNED], ids=["integers", "bins"])
def test_a_value_too_large_for_a_float_is_outside_the_domain(domain: dict[str, Any]) -> None:
    mechanism = parse({"name": "large", "mechanism": "olh", "epsilon": 1.0, "domain": domain}).mechanism
    with pytest.raises(ValueOutsideDomain, match=r"^value must be an? (integer|number) in [0-9.]+$"):
        mechanism.domain.encode({"value": [1, 10**400]})


class TestMatricesInFiles:
    TABLE = """
name = "table"
mechanism = "channel"
epsilon = 1.2
[domain]
kind = "categorical"
categories = ["a", "b"]
[options]
matrix = "rows.csv"
"""

    def write(self, folder: Path, rows: bytes) -> Path:
        (folder / "rows.csv").write_bytes(rows)
        (folder / "table.toml").write_text(self.TABLE)
        return folder / "table.toml"

    def test_a_file_beside_the_survey_is_read_into_the_definition(self, tmp_path: Path) -> None:
        survey = load(self.write(tmp_path, b"0.75, 0.25\n0.25, 0.75\n"))
        assert survey.canonical()["options"]["matrix"] == [[0.75, 0.25], [0.25, 0.75]]
        assert parse(survey.canonical()).tag == survey.tag

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            (b"", "options.matrix must be a list of rows"),
            (b"0.75, x\n0.25, 0.75", "options.matrix must hold numbers >= 0, got 'x'"),
            (b"0.75\n0.25, 0.75", "options.matrix must have rows of one length"),
            (b"\xff", "rows.csv is not text in UTF-8"),
        ],
    )
    def test_a_bad_file_is_one_line(self, tmp_path: Path, rows: bytes, message: str) -> None:
        with pytest.raises(SurveyError) as caught:
            load(self.write(tmp_path, rows))
        assert message in str(caught.value)
        assert str(caught.value).isprintable()

    def test_a_missing_file_is_one_line(self, tmp_path: Path) -> None:
        file = self.write(tmp_path, b"")
        (tmp_path / "rows.csv").unlink()
        with pytest.raises(SurveyError, match=r"options\.matrix: .*rows\.csv: No such file or directory"):
            load(file)


PAGE = (Path(__file__).parents[2] / "docs" / "survey.md").read_text(encoding="utf-8")
ON_THE_PAGE = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", ON_THE_PAGE, ids=[text.split('"')[1] for text in ON_THE_PAGE])
def test_every_survey_on_the_page_is_one(text: str) -> None:
    survey = parse(tomllib.loads(text))
    assert parse(survey.canonical()).tag == survey.tag


def test_the_page_names_every_key_and_every_kind_of_domain() -> None:
    listed = set(re.findall(r"^\| `([a-z._]+)` \|", PAGE.partition("## Mechanisms")[0], re.MULTILINE))
    keys = {f"{name}.{key}" for name, table in _TABLES.items() for key in table.model_fields}
    assert listed == set(_File.model_fields) - set(_TABLES) | keys | set(_PARSERS)
