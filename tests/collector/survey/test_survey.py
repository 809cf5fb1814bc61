"""Survey files: the canonical form and its tag are stable, bad files are one line, the page about them is right."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hearsay.collector.errors import SurveyError
from hearsay.collector.survey.file import TABLES, File
from hearsay.collector.survey.survey import load, parse
from hearsay.collector.survey.toml import dump
from hearsay.collector.survey.windows import Every
from hearsay.mechanisms.catalogue import DOMAINS
from hearsay.mechanisms.errors import ValueOutsideDomain
from tests.collector.tables import BINNED, COMPLETE, SIZED, changed, complete
from tests.mechanisms.shared import LISTED_CASES, Case


@pytest.mark.parametrize("case", LISTED_CASES, ids=lambda case: case.name)
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


@pytest.mark.parametrize("retain", ["1d", ...])
def test_how_long_results_are_kept_does_not_change_the_tag(retain: Any) -> None:
    survey = parse(changed("window.retain", retain))
    assert survey.tag == parse(COMPLETE).tag
    assert survey.retain_s == (86_400 if retain == "1d" else None)


def test_the_wire_version_is_part_of_the_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    before = parse(COMPLETE).tag
    monkeypatch.setattr("hearsay.collector.survey.tags.WIRE_VERSION", 2)
    assert parse(COMPLETE).tag != before


def test_a_part_that_cannot_be_built_is_refused_at_once() -> None:
    domain = {"kind": "ordinal", "size": 1 << 24}
    wide = {"name": "wide", "mechanism": "hierarchical", "epsilon": 1.0, "domain": domain}
    with pytest.raises(SurveyError, match="domain must have at most 1048576 cells for oue"):
        parse({**wide, "options": {"oracle": "oue"}})


def test_a_survey_knows_its_numbers() -> None:
    survey = parse(COMPLETE)
    assert (survey.name, survey.epsilon, survey.windows, survey.retain_s) == ("drinks", 1.1, Every(3_600), 2_592_000)
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
        mechanism.domain.read({"value": [1, 10**400]})


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
            (b"0.75, x\n0.25, 0.75", "options.matrix: rows.csv, row 1, column 2: must be a number or inf"),
            (b"0" * ((1 << 26) + 1), "rows.csv must have at most 67,108,864 bytes"),
            (b"0.75\n0.25, 0.75", "options.matrix must have rows of one length"),
            (b"\xff", "rows.csv is not text in UTF-8"),
        ],
    )
    def test_a_bad_file_is_one_line(self, tmp_path: Path, rows: bytes, message: str) -> None:
        with pytest.raises(SurveyError) as caught:
            load(self.write(tmp_path, rows))
        assert message in str(caught.value)
        assert str(caught.value).isprintable()

    @pytest.mark.parametrize(
        "name", ["../private.csv", "{outside}/private.csv", "linked.csv", "below/../../private.csv"]
    )
    def test_row_11_a_file_elsewhere_is_not_read(self, tmp_path: Path, name: str) -> None:
        """Row 11 of an attacker's list: any CSV file was read, and its first cell quoted."""
        (tmp_path / "survey" / "below").mkdir(parents=True)
        (tmp_path / "private.csv").write_text("hunter2,0.5\n0.5,0.5\n")
        (tmp_path / "survey" / "linked.csv").symlink_to(tmp_path / "private.csv")
        file = tmp_path / "survey" / "table.toml"
        file.write_text(self.TABLE.replace("rows.csv", name.format(outside=tmp_path)))
        with pytest.raises(SurveyError, match="must be in the folder of the survey file, or below it") as caught:
            load(file)
        assert "hunter2" not in str(caught.value)

    def test_row_11_nothing_of_a_file_is_quoted(self, tmp_path: Path) -> None:
        with pytest.raises(SurveyError) as caught:
            load(self.write(tmp_path, b"name,age\nhunter2,41\n"))
        assert "name" not in str(caught.value).removeprefix(f"survey file {tmp_path}")
        assert "hunter2" not in str(caught.value)

    def test_a_missing_file_is_one_line(self, tmp_path: Path) -> None:
        file = self.write(tmp_path, b"")
        (tmp_path / "rows.csv").unlink()
        with pytest.raises(SurveyError, match=r"options\.matrix: .*rows\.csv: No such file or directory"):
            load(file)


PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "survey.md").read_text(encoding="utf-8")
ON_THE_PAGE = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", ON_THE_PAGE, ids=[text.split('"')[1] for text in ON_THE_PAGE])
def test_every_survey_on_the_page_is_one(text: str) -> None:
    survey = parse(tomllib.loads(text))
    assert parse(survey.canonical()).tag == survey.tag


def test_the_page_names_every_key_and_every_kind_of_domain() -> None:
    listed = set(re.findall(r"^\| `([a-z._-]+)` \|", PAGE.partition("## Mechanisms")[0], re.MULTILINE))
    keys = {f"{name}.{key}" for name, table in TABLES.items() for key in table.model_fields}
    assert listed == set(File.model_fields) - set(TABLES) | keys | set(DOMAINS)
