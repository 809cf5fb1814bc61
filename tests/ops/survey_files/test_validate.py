"""`hearsay validate`: one line per file, 2 where one is wrong."""

import json
from pathlib import Path

import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.planning.better import better_choice
from hearsay.ops.cli import run
from hearsay.ops.demo.scene import SURVEYS

EXAMPLES = [str(path) for path in sorted(SURVEYS.glob("*.toml")) if path.stem != "session-minutes"]


def test_every_example_is_valid(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", *EXAMPLES]) == 0
    out, _ = capsys.readouterr()
    assert [line.partition(":")[0] for line in out.splitlines()] == EXAMPLES


def test_one_that_is_wrong_is_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('name = "a"\nmechansim = "grr"\nepsilon = 1\n[domain]\nkind = "binary"\n')
    missing = str(tmp_path / "missing.toml")
    assert run(["validate", EXAMPLES[0], str(wrong), missing]) == 2
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 1
    first, second = err.splitlines()
    assert first.startswith(f"{wrong}: survey has the unknown key 'mechansim'; did you mean mechanism?")
    assert second == f"{missing}: No such file or directory"
    assert run(["validate", str(wrong), "--json"]) == 2
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["valid"], row["file"]) == (False, str(wrong))


def test_what_is_unwise_is_remarked_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey = tmp_path / "much.toml"
    survey.write_text('name = "a"\nmechanism = "hrr"\nepsilon = 50\n[domain]\nkind = "categorical"\nsize = 3\n')
    assert run(["validate", str(survey)]) == 0
    assert "epsilon 50 protects next to nothing" in capsys.readouterr().out
    survey.write_text('name = "a"\nmechanism = "hrr"\nepsilon = 1\n[domain]\nkind = "categorical"\nsize = 3\n')
    assert run(["survey", "show", str(survey)]) == 0
    assert "Remark: grr would have 22% less error here, of single values." in capsys.readouterr().out


def test_levels_for_another_epsilon_are_remarked_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    domain = {"kind": "ordinal", "size": 100}
    solved = build({"mechanism": "hierarchical", "epsilon": 4.0, "domain": domain}).canonical_options()["levels"]
    survey = tmp_path / "ages.toml"
    text = (
        'name = "ages"\nmechanism = "hierarchical"\nepsilon = 4.0\n[domain]\nkind = "ordinal"\nsize = 100\n'
        f"[options]\nlevels = {json.dumps(solved)}\n"
    )
    survey.write_text(text)
    assert run(["validate", str(survey)]) == 0
    assert "options.levels" not in capsys.readouterr().out
    survey.write_text(text.replace("epsilon = 4.0", "epsilon = 0.5"))
    assert run(["validate", str(survey)]) == 0
    said = capsys.readouterr().out
    assert 'options.levels = "optimised" (for epsilon 0.5; those of the file are fixed) would have ' in said
    assert "less error here, of ranges" in said


def test_a_file_that_is_no_text_is_refused_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "people.parquet"
    file.write_bytes(b"PAR1\xb7\x00")
    assert run(["validate", str(file)]) == 2
    assert capsys.readouterr().err.endswith("is not valid TOML: it is not UTF-8 text\n")


@pytest.mark.parametrize("workload", ["prefix", "short", "long"])
def test_levels_for_another_workload_are_not_remarked_on(workload: str) -> None:
    """A registered survey lists its levels, and no longer the workload that they are best for."""
    table = {"mechanism": "hierarchical", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 100}}
    listed = build({**table, "options": {"workload": workload}}).canonical_options()
    assert "options.levels" not in (better_choice(build({**table, "options": listed})) or "")


def test_a_table_that_was_made_for_another_epsilon_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "heights.toml"
    assert run(["init", str(file), "--name", "a", "--kind", "number", "--size", "140,210", "--epsilon", "1"]) == 0
    written = file.read_text()
    for epsilon, says in (
        (4, "for epsilon 1, and reports spend no more"),
        (0.5, "without options.table it is made for"),
    ):
        file.write_text(written.replace("epsilon = 1.0", f"epsilon = {epsilon}"))
        assert run(["validate", str(file)]) == (0 if epsilon == 4 else 2)
        shown = capsys.readouterr()
        assert says in shown.out + shown.err
