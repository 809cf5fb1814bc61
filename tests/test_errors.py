"""One tree of errors, with fields for programs, and never a device's value."""

import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import hearsay
from hearsay import Device, HearsayError, SurveyError
from hearsay.collector.errors import ServerError
from hearsay.collector.store.connect import open_servers
from hearsay.mechanisms import catalogue
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.questions import answer, check_reports, parse_text, query_for
from hearsay.producer.errors import ValuesError
from hearsay.producer.values.header import column_numbers
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
    # NodeAway is a lost connection, caught where redis-py's own are; the others are Starlette's answers over HTTP.
    assert outside == ["NodeAway", "Problem", "Refusal"]
    codes = [each.CODE for each in errors if issubclass(each, HearsayError) and "CODE" in vars(each)]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[a-z-]+", code) for code in codes)


def test_fields_are_read_from_the_sentence() -> None:
    error = HearsayError("options.t must be in 2..8, got 9, got 10")
    assert error.table() == {
        "code": "error",
        "error": "options.t must be in 2..8, got 9, got 10",
        "what": "options.t",
        "expected": "in 2..8",
        "got": "9, got 10",
    }
    assert HearsayError("rounds must have exactly tag, round").expected == "have exactly tag, round"
    plain = HearsayError("the server is away")
    assert (plain.what, plain.expected, plain.got) == (None, None, None)
    given = HearsayError("sent twice", what="report", expected="once", got="twice", code="twice")
    assert (given.what, given.expected, given.got, given.code) == ("report", "once", "twice", "twice")


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
