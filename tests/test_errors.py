"""One tree of errors, with fields for programs, and never a device's value."""

import ast
import json
import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hearsay
from hearsay import Device, HearsayError, SurveyError
from hearsay.collector.errors import OfferRefused, ServerError
from hearsay.collector.store.connect import open_servers
from hearsay.collector.survey.file import with_matrices
from hearsay.collector.survey.survey import parse
from hearsay.estimator.live import choose
from hearsay.estimator.waiting import with_waiting
from hearsay.mechanisms import catalogue
from hearsay.mechanisms.errors import QueryError, ValueOutsideDomain
from hearsay.mechanisms.questions import answer, check_reports, parse_text, query_for
from hearsay.producer.errors import ValuesError
from hearsay.producer.values.header import column_numbers
from hearsay.producer.values.reading import read
from tests.test_imports import SERVERS

PAGE = Path(hearsay.__file__).parents[1] / "docs" / "start" / "python.md"
PUBLIC = [name for name in hearsay.__all__ if isinstance(getattr(hearsay, name), type)]
ERRORS = [name for name in PUBLIC if issubclass(getattr(hearsay, name), HearsayError)]


def all_errors() -> list[type[Exception]]:
    """Every class of exception that the package defines."""
    classes = set()
    for module in pkgutil.walk_packages(hearsay.__path__, "hearsay."):
        if not module.name.endswith("__main__"):
            classes |= {each for each in vars(import_module(module.name)).values() if isinstance(each, type)}
    ours = [each for each in classes if each.__module__.startswith("hearsay.") and issubclass(each, Exception)]
    return sorted(ours, key=lambda each: each.__name__)


def test_every_error_has_one_base_and_a_code_of_its_own() -> None:
    errors = [each for each in all_errors() if not issubclass(each, OSError | AssertionError | Warning)]
    outside = [each.__name__ for each in errors if not issubclass(each, HearsayError)]
    # NodeAway and QueueAway are lost connections, caught where redis-py's own are; the others are Starlette's answers.
    assert outside == ["NodeAway", "Problem", "QueueAway", "Refusal"]
    codes = [each.CODE for each in errors if issubclass(each, HearsayError) and "CODE" in vars(each)]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[a-z-]+", code) for code in codes)


def test_the_sentence_is_composed_of_the_fields() -> None:
    error = HearsayError(what="a must b.toml", expected="in 2..8", got="9, got 10", ending="; use t = 2")
    assert error.table() == {
        "code": "error",
        "error": "a must b.toml must be in 2..8, got 9, got 10; use t = 2",
        "what": "a must b.toml",
        "expected": "in 2..8",
        "got": "9, got 10",
    }
    error = HearsayError(what="rounds", must="have exactly tag, round")
    assert (str(error), error.expected, error.got) == (
        "rounds must have exactly tag, round", "have exactly tag, round", None,
    )  # fmt: skip
    zero = HearsayError(what="reports", expected="at least 1", got=0)
    assert (str(zero), zero.got) == ("reports must be at least 1, got 0", "0")
    assert str(HearsayError(expected="a table", got="")) == "must be a table, got "


def test_an_error_raised_again_keeps_its_fields() -> None:
    error = ValueOutsideDomain(what="age", expected="an integer in 0..3", got="str", positions=[2], column="age")
    again = ValuesError(f"people must be here.csv: {error}", **error.fields)
    assert (error.positions, error.column) == ((2,), "age")
    assert str(again) == "people must be here.csv: age must be an integer in 0..3, got str"
    assert (again.what, again.expected, again.got) == ("age", "an integer in 0..3", "str")


def test_a_bad_value_in_a_column_keeps_its_fields() -> None:
    survey = hearsay.Survey.of(
        {"name": "a", "mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 4}}
    )
    with pytest.raises(ValueOutsideDomain, match=r"^row 1 of column 'value': value must be an integer in 0..3$") as bad:
        Device(survey).reports({"value": [3, 4]})
    assert (bad.value.what, bad.value.expected, bad.value.got) == ("value", "an integer in 0..3", None)


def test_an_error_with_a_text_of_its_own_has_the_fields_beside_it() -> None:
    plain = HearsayError("the server must be away, got nothing")
    assert (plain.what, plain.expected, plain.got) == (None, None, None)
    given = HearsayError("sent twice", what="report", expected="once", got="twice", code="twice")
    assert str(given) == "sent twice"
    assert (given.what, given.expected, given.got, given.code) == ("report", "once", "twice", "twice")


def test_no_error_is_raised_with_a_text_that_fields_compose() -> None:
    names = {each.__name__ for each in all_errors() if issubclass(each, HearsayError)}
    programs = {path: path.read_text(encoding="utf-8") for path in Path(hearsay.__file__).parent.rglob("*.py")}
    assert {str(path): lines for path, text in programs.items() if (lines := spelt_out(text, names))} == {}


def test_a_text_that_fields_compose_is_seen() -> None:
    names = {"HearsayError"}
    assert spelt_out('raise HearsayError(f"{name} must be {allowed}, got {value!r}")', names) == [1]
    assert spelt_out('raise HearsayError("t must " "be 1, got 2", what="t", expected="1", got=2)', names) == [1]
    assert spelt_out('words = f"{name} must rise"\nraise errors.HearsayError(words)', names) == [2]
    assert spelt_out('raise HearsayError("the form must rise" if form else "no form")', names) == [1]
    assert spelt_out('raise HearsayError("it must rise: here", what="it", expected="rise")', names) == []
    assert spelt_out('raise HearsayError(what="it", must="rise", got="a fall")', names) == []
    assert spelt_out('raise ValueError("it must be 1, got 2")\nraise HearsayError(f"no {mustard}")', names) == []


def spelt_out(program: str, names: set[str]) -> list[int]:
    """The lines where an error gets a text with `must` that is composed of fields elsewhere.

    Such a text is allowed where it is of another form, without `got`, and its fields stand beside it.
    """
    lines = []
    nodes = list(ast.walk(ast.parse(program)))
    assigned = [node for node in nodes if isinstance(node, ast.Assign)]
    for call in (node for node in nodes if isinstance(node, ast.Call) and node.args):
        if ast.unparse(call.func).rpartition(".")[2] not in names:
            continue
        text = ast.unparse(call.args[0])
        values = [each.value for each in assigned if text in map(ast.unparse, each.targets)]
        words = {word for value in (call.args[0], *values) for word in _words(value)}
        if "must" in words and ("got" in words or "what" not in {keyword.arg for keyword in call.keywords}):
            lines.append(call.lineno)
    return lines


def _words(value: ast.expr) -> list[str]:
    """The words of every text in an expression."""
    texts = [node.value for node in ast.walk(value) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return re.findall(r"\w+", " ".join(texts))


def test_errors_that_people_meet_set_their_fields_where_they_are_raised() -> None:
    survey = hearsay.Survey.of(
        {"name": "a", "mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 4}}
    )
    estimate = survey.mechanism.estimate(survey.mechanism.empty())
    with pytest.raises(QueryError, match="no reports yet") as refused:
        answer(parse_text("frequencies"), estimate)
    assert refused.value.table() | {"error": ""} == {
        "code": "query", "error": "", "what": "reports", "expected": "at least 1", "got": "0",
    }  # fmt: skip
    with pytest.raises(QueryError, match="withheld") as refused:
        check_reports(3, 10)
    assert (refused.value.what, refused.value.expected, refused.value.got) == ("reports", "at least 10", "3")
    with pytest.raises(QueryError, match="cannot answer quantile") as refused:
        query_for(parse_text("quantile 0.5"), estimate)
    assert refused.value.what == "mechanism"
    assert "one that can answer quantile: " in str(refused.value.expected)
    with pytest.raises(ValuesError) as missing:
        column_numbers("people.csv", ["age"], survey.mechanism.domain, "sex")
    assert (missing.value.what, missing.value.expected, missing.value.got) == ("column", "sex", None)
    with pytest.raises(ServerError) as away:
        open_servers("redis://127.0.0.1:1")
    assert (away.value.what, away.value.expected, away.value.got) == (
        "redis-url", "a server that answers", "127.0.0.1:1",
    )  # fmt: skip


def test_a_survey_file_keeps_the_fields(tmp_path: Path) -> None:
    file = tmp_path / "survey.toml"
    file.write_text('name = "a"\nmechanism = "grr"\nepsilon = 1.0\nsize = 4\n[domain]\nkind = "binary"\n')
    with pytest.raises(SurveyError, match=r"survey file .*survey\.toml: survey has the unknown key 'size'") as refused:
        hearsay.Survey.of(file)
    assert (refused.value.what, refused.value.got) == ("survey", "'size'")
    assert "epsilon" in str(refused.value.expected)


SURVEY = {"name": "a", "mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 4}}


@pytest.mark.parametrize(
    ("change", "what", "expected", "got"),
    [
        ({"epsilon": -1.0}, "epsilon", "> 0 and at most 50", "-1.0"),
        ({"name": "A"}, "name", "1 to 64 of a-z, 0-9 and -, not starting or ending with -", "'A'"),
        ({"window": 3}, "window", "a table", "int"),
        ({"window": {"every": "1w"}}, "window.every", "a number above 0 and one of s, m, h, d, such as 1h", "'1w'"),
        ({"answers": {"minimum_reports": 0}}, "answers.minimum_reports", "greater than or equal to 1", "0"),
        ({"durable": "tape"}, "durable", "one of memory, disk, replica", "'tape'"),
        ({"domain": {"kind": "ordinal", "size": 1 << 70}}, "domain.size", "an integer of at most 64 bits", "71 bits"),
        ({"options": {"a": "rows.csv"}}, "options.a", "a number or inf", None),
        ({"options": {"a": "../rows.csv"}}, "options.a", "in the folder of the survey file, or below it", None),
    ],
)
def test_a_file_s_name_is_not_taken_for_the_sentence(
    tmp_path: Path, change: dict[str, Any], what: str, expected: str, got: str | None
) -> None:
    (tmp_path / "rows.csv").write_text("must be\n")
    with pytest.raises(SurveyError) as refused:
        parse(with_matrices({**SURVEY, **change}, tmp_path))
    error = refused.value.within("survey file it must be, got it.toml")
    assert (error.what, error.expected, error.got) == (what, expected, got)
    assert str(error) == f"survey file it must be, got it.toml: {refused.value}"


def test_fields_of_a_survey_s_error_are_of_bearable_length_and_on_one_line() -> None:
    with pytest.raises(SurveyError) as refused:
        parse({**SURVEY, "domain": {"kind": "line\n" * 10_000}, "mechanism": "grr"})
    assert all("\n" not in text and len(text) < 700 for text in refused.value.table().values() if text is not None)


@pytest.mark.parametrize(
    ("rows", "what", "expected"),
    [
        ("1\n9", "value", "an integer in 0..3"),
        ("8\n9\n2", "value", "an integer in 0..3"),
        ("1\n2,3", "line", "have 1 cells like the header"),
        ("9\n2,3", None, None),
        ("\xff", "column 1", "UTF-8 text"),
    ],
)
def test_a_file_of_values_keeps_the_fields(tmp_path: Path, rows: str, what: str | None, expected: str | None) -> None:
    file = tmp_path / "it must be, got it.csv"
    file.write_text(f"value\n{rows}\n", encoding="latin-1")
    with pytest.raises(ValuesError) as refused:
        read(file, parse(SURVEY).mechanism.domain)
    assert (refused.value.what, refused.value.expected, refused.value.got) == (what, expected, None)


def test_a_refused_window_keeps_the_fields() -> None:
    seen: Any = SimpleNamespace(survey=parse(SURVEY), windows=[])
    with pytest.raises(QueryError, match="window must be all, last:N or a window with reports ") as refused:
        choose(seen, "r9")
    assert (refused.value.what, refused.value.got) == ("window", "r9")
    again = with_waiting(refused.value, 7)
    assert str(again).endswith("; 7 reports are waiting to be folded (see hearsay status)")
    assert again.fields == refused.value.fields


def test_a_damaged_snapshot_keeps_the_fields(tmp_path: Path) -> None:
    directory = tmp_path / "it must be, got it"
    hearsay.simulate(SURVEY, [0, 1, 2, 3] * 25, out=directory)
    file = directory.resolve() / "snapshot.json"
    table = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**table, "definition": {**table["definition"], "epsilon": -1.0}}), encoding="utf-8")
    with pytest.raises(hearsay.SnapshotError, match="is not a snapshot: epsilon must be") as refused:
        hearsay.load_snapshot(directory)
    assert (refused.value.what, refused.value.got) == ("epsilon", "-1.0")


def test_an_offer_that_no_round_has_keeps_the_fields() -> None:
    keys = {"kind": "key-value", "keys": 3}
    survey = parse({"name": "a", "mechanism": "privkvm", "epsilon": 4.0, "domain": keys, "options": {"rounds": 2}})
    with pytest.raises(OfferRefused) as refused:
        Device(survey).report({0: 0.5}, {"tag": survey.tag, "round": 2, "parameters": {"means": [1]}})
    assert (refused.value.what, refused.value.expected) == ("round.means", "3 integers in -2^20..2^20")


@pytest.mark.parametrize("name", sorted(catalogue.shipped()), ids=str)
def test_no_field_shows_a_device_s_value(name: str) -> None:
    """Whatever is handed to a device by mistake: a label, numbers, a row, pairs."""
    device = Device({"name": "marked", "mechanism": name, **catalogue.classes(name)[0].EXAMPLES[0]})
    number, label = 987_654_321, "marked-4711"
    for value in (number, float(number), -number, label, [number], [label], {"x": number}, {label: number}, (label, 1)):
        try:
            device.report(value)
        except HearsayError as error:
            shown = " ".join(map(str, (*error.table().values(), vars(error), *error.args)))
            assert str(number) not in shown
            assert label not in shown


def test_the_page_lists_the_public_errors_with_their_codes() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (`[^|]+) \|", PAGE.read_text(encoding="utf-8").split("## Errors")[1], re.M))
    assert set(rows) == set(ERRORS)
    for name, codes in rows.items():
        assert f"`{getattr(hearsay, name).CODE}`" in codes


def test_errors_load_nothing_of_a_server() -> None:
    program = f"from hearsay import {', '.join(ERRORS)}; import hearsay, sys; hearsay.__version__; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert SERVERS & set(done.stdout.split()) == set()
