"""`hearsay plan`: rows with every field, exit codes, one line of refusal."""

import json
from pathlib import Path
from typing import Any

import pytest

from hearsay.collector.survey.survey import load
from hearsay.ops import cli

FIELDS = [
    *("mechanism", "users", "epsilon", "within", "within_90", "worst"),
    *("bytes", "state_bytes", "device_us", "detects", "recommended", "reason"),
]
LABELS = ("--kind", "categorical", "--size", "4")
LINE = ("--kind", "ordinal", "--size", "16")
KEYS = ("--kind", "key-value", "--size", "3")
SURVEY = """
name = "fruit"
mechanism = "grr"
epsilon = 1.0
[domain]
kind = "categorical"
categories = ["apple", "pear", "plum"]
"""


def run(*words: str) -> int:
    return cli.run(["plan", *words])


def rows(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert run(*words, "--json") == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


@pytest.fixture
def survey(tmp_path: Path) -> str:
    path = tmp_path / "fruit.toml"
    path.write_text(SURVEY)
    return str(path)


def test_rows_have_every_field_best_first(capsys: pytest.CaptureFixture[str], survey: str) -> None:
    found = rows(capsys, survey, "--query", "point pear", "--users", "2000", "--epsilon", "1")
    assert all(list(row)[: len(FIELDS)] == FIELDS for row in found)
    assert [row["within"] for row in found] == sorted(row["within"] for row in found)
    assert sum(row["recommended"] for row in found) == 1
    first = found[0]
    assert first["within"] == first["worst"]  # without a shape the worst is planned for
    assert first["detects"] == pytest.approx(2.8 * 2 * first["within"] / 1.96)
    assert {row["bytes"] for row in found} <= {1, 2, 3}


def test_values_of_real_people(capsys: pytest.CaptureFixture[str], survey: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("value\n" + "apple\n" * 9 + "plum\n")
    given = ("--query", "point apple", "--users", "2000", "--epsilon", "3", "--mechanism", "grr")
    (real,) = rows(capsys, survey, *given, "--values", str(tmp_path / "people.csv"))
    (even,) = rows(capsys, survey, *given, "--shape", "uniform")
    assert real["shape"] == "values"
    assert real["within"] != pytest.approx(even["within"], rel=0.02)


def test_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--kind", "ordinal", "--size", "16", "--query", "range 2 5", "--users", "500", "--epsilon", "1")
    assert run(*given) == 0
    shown = capsys.readouterr().out
    assert "1 in 100 likely may think at most 2.67 in 100" in shown
    assert "the worst of cauchy, zipf" in shown


def test_domains_by_flags(capsys: pytest.CaptureFixture[str]) -> None:
    common = ("--users", "500", "--epsilon", "1", "--shape", "uniform")
    for kind, query, flags in (
        ("grid", "range 0:1 2:3", ("--size", "4", "--size", "4", "--mechanism", "haar")),
        ("attributes", "marginal a1 a3", ("--size", "3", "--mechanism", "inp-ht")),
        ("key-value", "point 3", ("--size", "5", "--mechanism", "privkv")),
        ("count", "mean", ("--size", "5", "--mechanism", "gm")),
        ("number", "mean", ("--low", "0", "--high", "10")),
        ("ordinal", "prefix 3", ("--low", "0", "--high", "10", "--bins", "8", "--mechanism", "haar")),
        ("categorical", "point tea", ("--domain", 'categories=["tea", "coffee"]', "--mechanism", "grr")),
    ):
        assert len(rows(capsys, "--kind", kind, "--query", query, *flags, *common)) == 1


def test_out_of_reach_is_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--kind", "binary", "--query", "point 1", "--users", "100", "--within", "1e-9", "--mechanism", "hrr")
    assert run(*given, "--json") == 1
    shown = capsys.readouterr()
    (row,) = json.loads(shown.out)
    assert row["epsilon"] is None
    assert "no epsilon up to 10 reaches it" in row["reason"]
    assert "no mechanism reaches what was asked for" in shown.err
    assert "; planned for the worst shape, " in shown.err
    assert shown.err.endswith(": --shape or --values plan for another\n")


def test_more_users_than_there_are_people_are_not_looked_for(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--kind", "binary", "--query", "top 1", "--epsilon", "1", "--within", "1e-9", "--mechanism", "grr")
    assert run(*given, "--json") == 1
    (row,) = json.loads(capsys.readouterr().out)
    assert row["users"] is None
    assert row["reason"].startswith("no number of users up to 1,000,000,000,000 reaches it: +-0.0")


def test_a_plan_is_a_table_at_80_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    words = ("--kind", "ordinal", "--size", "100", "--query", "range 30 45", "--epsilon", "1")
    for third in (("--users", "20000"), ("--within", "0.01")):
        assert run(*words, *third) == 0
        shown = capsys.readouterr().out.splitlines()
        assert sum(line.startswith("hierarchical *  ") for line in shown) == 1
        assert any(set(line) == {"─"} for line in shown), "a table, not blocks"


@pytest.mark.parametrize(
    ("kind", "query", "within"),
    [
        (("--kind", "number", "--size", "0,10"), "mean", "0.3"),
        (("--kind", "ordinal", "--size", "16"), "range 2 5", "0.15"),
        (("--kind", "binary"), "point 1", "0.04"),
    ],
)
def test_a_file_of_init_is_planned_as_its_domain(
    kind: tuple[str, ...], query: str, within: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the file has solved for its own epsilon does not bind a plan for another."""
    file = tmp_path / "written.toml"
    assert cli.run(["init", str(file), "--name", "written", "--epsilon", "0.5", *kind]) == 0
    capsys.readouterr()
    written = load(file).mechanism
    target = ("--query", query, "--users", "2000", "--within", within, "--mechanism", written.ID)
    (found,) = rows(capsys, str(file), *target)
    table = {name: value for name, value in written.domain.table().items() if name != "kind"}
    flags = [word for name, value in table.items() for word in ("--domain", f"{name}={json.dumps(value)}")]
    (expected,) = rows(capsys, "--kind", written.domain.kind, *flags, *target)
    assert found["epsilon"] == expected["epsilon"]
    assert found["epsilon"] > 0.6


def test_levels_of_ones_own_are_planned_at_their_epsilon(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "levels.toml"
    levels = 'levels = ["2 grr 1024 at 4", "2 ss 1024 at 2", "2 olh 2048"]'
    file.write_text(f"""
name = "levels"
mechanism = "hierarchical"
epsilon = 1.0
[domain]
kind = "ordinal"
size = 7
[options]
{levels}
""")
    given = ("--query", "range 2 5", "--users", "2000", "--epsilon", "1", "--mechanism", "hierarchical")
    (found,) = rows(capsys, str(file), *given)
    (best,) = rows(capsys, "--kind", "ordinal", "--size", "7", *given)
    assert found["within"] > 1.01 * best["within"]


def test_a_line_below_the_table_says_what_its_columns_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*LABELS, "--query", "point 1", "--users", "500", "--epsilon", "1", "--mechanism", "grr") == 0
    shown = " ".join(capsys.readouterr().out.split())
    for column in ("within: half the width", "within 90: of nine in ten", "worst: ", "detects: the least difference"):
        assert column in shown


def test_the_half_width_of_a_share_may_be_a_percentage(capsys: pytest.CaptureFixture[str]) -> None:
    question = (*LABELS, "--query", "point 1", "--users", "5000", "--mechanism", "grr")
    (percent,), (number,) = (rows(capsys, *question, "--within", within) for within in ("5%", "0.05"))
    assert percent["epsilon"] == number["epsilon"]


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        ((), "say what will be asked"),
        (("--query", "point 1", "--users", "5", "--epsilon", "1"), "give a survey file or --kind, and not both"),
        (("--kind", "cake", "--query", "point 1"), "kind must be one of categorical"),
        ((*LABELS, "--query", "point 1", "--users", "5"), "two of users, epsilon and within"),
        ((*LABELS, "--query", "mean", "--users", "5", "--epsilon", "1"), "ask one of point V"),
        ((*LABELS, "--size", "5", "--query", "point 1"), "size must be given once"),
        (("--kind", "grid", "--domain", "sizes", "--query", "point 1"), "--domain must be KEY=VALUE"),
        ((*LABELS, "--query", "point", "New", "York"), 'quote the question: --query "point New York"'),
        ((*LABELS, "--query", "point 1", "--users", "5", "--within", "some"), "within must be a number, or of a share"),
        ((*LABELS, "--query", "point 1", "--users", "5", "--epsilon", "1%"), "write 1% as 0.01"),
        ((*LABELS, "--query", "point 1", "--users", "5", "--within", "2"), "below 1, a share of the users: 1% is 0.01"),
        ((*LINE, "--query", "quantile 0.5", "--users", "5", "--within", "1"), "give shape or values to plan it in the"),
        ((*LINE, "--query", "mean", "--users", "5", "--within", "1"), "a survey of kind count or key-value or number"),
        ((*LINE, "--query", "mean", "--users", "5", "--epsilon", "1", "--mechanism", "haar"), "haar cannot answer"),
        (("--kind", "count", "--size", "5", "--query", "linear", "--users", "50", "--epsilon", "1"), "one coefficient"),
        ((*KEYS, "--query", "quantile 0.5 1", "--users", "50", "--epsilon", "1"), "privkv with options.bins"),
        ((*KEYS, "--query", "quantile 0.5 1", "--users", "50", "--within", "0.1"), "privkv with options.bins"),
        (("missing.toml", "--query", "point 1", "--users", "5", "--epsilon", "1"), "missing.toml"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(words: tuple[str, ...], refusal: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert refusal in shown.err


def test_the_written_survey_is_what_was_planned(
    capsys: pytest.CaptureFixture[str], survey: str, tmp_path: Path
) -> None:
    target = tmp_path / "My Fruit.toml"
    given = ("--query", "point pear", "--users", "2000", "--within", "0.05", "--shape", "uniform")
    found = rows(capsys, survey, *given, "--write", str(target))
    (best,) = (row for row in found if row["recommended"])
    written = load(target)
    assert (written.name, written.mechanism.ID, written.epsilon) == ("my-fruit", best["mechanism"], best["epsilon"])
    assert written.mechanism.domain == load(survey).mechanism.domain
    assert "# Planned for: point pear" in target.read_text()
    stderr = written.mechanism.predicted_stderr(2_000)["point"]  # what `survey show` says
    assert 1.96 * stderr == pytest.approx(best["within"], rel=0.05)


def test_a_written_survey_keeps_what_the_given_one_settles(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given, target = tmp_path / "given.toml", tmp_path / "planned.toml"
    given.write_text("""
name = "given"
mechanism = "hierarchical"
epsilon = 1.0
[domain]
kind = "ordinal"
size = 64
[options]
fanout = 8
oracle = "oue"
[window]
every = "1h"
retain = "2d"
[answers]
minimum_reports = 500
postprocess = "clip"
""")
    words = ("--query", "range 3 9", "--users", "9000", "--epsilon", "2", "--shape", "uniform")
    for mechanism in ("hierarchical", "haar"):
        assert run(str(given), *words, "--mechanism", mechanism, "--write", str(target)) == 0
        written = load(target).canonical()
        assert written["window"] == {"every": "1h", "retain": "2d"}
        assert written["answers"] == {"minimum_reports": 500, "postprocess": "clip"}
        assert (written["epsilon"], written["mechanism"]) == (2.0, mechanism)
        assert mechanism == "haar" or (written["options"]["fanout"], written["options"]["oracle"]) == (8, "oue")
        target.unlink()


def test_a_written_survey_of_flags_withholds_answers_from_few_reports(tmp_path: Path) -> None:
    target = tmp_path / "planned.toml"
    assert run(*LINE, "--query", "range 3 9", "--users", "900", "--epsilon", "1", "--write", str(target)) == 0
    assert load(target).minimum_reports == 100


def test_a_plan_that_cannot_be_written_is_printed_all_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given, target = tmp_path / "given.toml", tmp_path / "planned.toml"
    given.write_text("""
name = "given"
mechanism = "grr"
epsilon = 1.0
[domain]
kind = "categorical"
categories = ["apple", "pear"]
[participation]
lifetime_epsilon = 1.0
repeat = "every-window"
[window]
every = "1h"
""")
    words = ("--query", "point pear", "--users", "500", "--epsilon", "2")
    assert run(str(given), *words, "--write", str(target)) == 2
    shown = capsys.readouterr()
    assert "grr" in shown.out
    assert "lifetime_epsilon" in shown.err
    assert not target.exists()


def test_no_file_is_overwritten(capsys: pytest.CaptureFixture[str], survey: str) -> None:
    before = Path(survey).read_bytes()
    assert run(survey, "--query", "point pear", "--users", "500", "--epsilon", "1", "--write", survey) == 2
    assert f"{survey} exists; choose another name" in capsys.readouterr().err
    assert Path(survey).read_bytes() == before


@pytest.mark.parametrize("size", ["18,99", "18-99", "18..99", "18 to 99"])
def test_two_ends_of_whole_numbers_as_init_takes_them(capsys: pytest.CaptureFixture[str], size: str) -> None:
    given = ("--query", "range 30 45", "--users", "9000", "--epsilon", "1", "--mechanism", "haar", "--shape", "uniform")
    ends = ("--domain", "first=18", "--domain", "last=99")
    by_size = rows(capsys, "--kind", "ordinal", "--size", size, *given)
    assert _without_time(by_size) == _without_time(rows(capsys, "--kind", "ordinal", *ends, *given))


def _without_time(listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "device_us"} for row in listed]


def test_the_lifetime_in_words(capsys: pytest.CaptureFixture[str], survey: str) -> None:
    given = (survey, "--query", "point pear", "--users", "500", "--epsilon", "0.5", "--mechanism", "grr")
    assert run(*given, "--every", "1h", "--for", "2d") == 0
    assert "is 48 reports, which spend epsilon 24 in all" in capsys.readouterr().out
    assert run(*given, "--every", "1h") == 2
    assert run(*given, "--every", "1h", "--for", "later") == 2
    shown = capsys.readouterr()
    assert "--for must be a number above 0" in shown.err
    assert shown.out == ""


def test_several_surveys(capsys: pytest.CaptureFixture[str], survey: str, tmp_path: Path) -> None:
    other = tmp_path / "minutes.toml"
    other.write_text('name = "minutes"\nmechanism = "haar"\nepsilon = 1.0\n[domain]\nkind = "ordinal"\nsize = 16\n')
    found = rows(capsys, survey, str(other), "--users", "4000", "--budget", "1")
    assert [row["survey"] for row in found] == ["fruit", "minutes"]
    for row in found:
        assert row["alone"] < row["split_users"] < row["split_budget"]  # at a small epsilon
        assert row["split_users"] == pytest.approx(row["alone"] * 2**0.5, rel=0.1)
    assert {row["recommended"] for row in found} == {"split the users"}
    high = rows(capsys, str(other), str(other), "--users", "4000", "--budget", "8")
    assert {row["recommended"] for row in high} == {"split the budget"}  # haar samples: a large epsilon is wasted on it
    assert run(survey, str(other), "--users", "4000") == 2
    capsys.readouterr()
    for flag, value in (("--within", "0.1"), ("--mechanism", "grr"), ("--write", str(tmp_path / "never.toml"))):
        assert run(survey, str(other), "--users", "4000", "--budget", "1", flag, value) == 2
        assert f"{flag} goes with one survey" in capsys.readouterr().err


def test_texts_detect_the_smallest_share_told(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--kind", "text", "--size", "16", "--query", "top 10", "--users", "1000000", "--epsilon", "2")
    (row,) = rows(capsys, *given)
    assert row["mechanism"] == "prefixes"
    assert row["detects"] == pytest.approx(0.0190, rel=0.05)  # derived and simulated: 1.90%
