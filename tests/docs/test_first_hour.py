"""What a newcomer must find: on the README's first lines, in its order, in the glossary; one definition of a survey."""

import re
import tomllib
from pathlib import Path

import pytest

from hearsay.ops.demo.scene import demo_surveys
from hearsay.ops.demo.screen import COLUMNS
from tests.docs.blocks import blocks
from tests.docs.clone import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
SURVEYS = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in (ROOT / "ops/surveys").glob("*.toml")}


def test_the_readme_says_for_whom_when_when_not_and_why_before_anything_else() -> None:
    first = README[: README.index("## Install")]
    for bullet in ("**For whom**", "**Use it when**", "**Use something else when**", "**What nothing else does**"):
        assert bullet in first
    assert "central differential privacy" in first


def test_promises_and_audit_stand_before_speed() -> None:
    order = [README.index(title) for title in ("## What it promises", "## Checking the claims", "## Speed")]
    assert order == sorted(order)
    assert README.index("hearsay audit") < README.index("## Speed")


def test_the_papers_are_named_with_title_year_and_link() -> None:
    first = README[: README.index("## Install")]
    assert len(re.findall(r"https://(?:doi\.org|arxiv\.org)/\S+\)", first)) >= 5
    references = (ROOT / "docs/explanation/references.md").read_text(encoding="utf-8")
    families = references[references.index("## The papers that") : references.index("## Mechanisms")]
    for title in (
        "Marginal Release",
        "Answering Range",
        "Constrained Private",
        "Metric-based",
        "Context-Aware",
        "PrivKV:",
    ):
        row = next(line for line in families.splitlines() if title in line)
        assert re.search(r"20(18|19|20)", row), row


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_survey_has_the_same_definition_on_every_page(page: Path) -> None:
    for block in blocks(page):
        if block.language == "toml":
            table = tomllib.loads(block.text)
            shipped = SURVEYS.get(table.get("name", ""))
            assert shipped is None or table == shipped, f"line {block.line}"


def test_programs_of_different_pages_have_ledgers_of_their_own() -> None:
    """A reader runs them in one folder: what one program spent, another could not spend again."""
    programs = {path.read_text(encoding="utf-8") for path in (ROOT / "examples").rglob("*.py")}
    programs |= {block.text for page in PAGES for block in blocks(page) if block.language == "python"}
    ledgers = [ledger for program in programs for ledger in set(re.findall(r'ledger="([^"]+)"', program))]
    assert "device.db" in ledgers
    assert len(set(ledgers)) == len(ledgers), ledgers


def test_the_changelog_has_a_dated_part_for_this_release() -> None:
    parts = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert parts[0] == "Unreleased"
    assert re.fullmatch(rf"{re.escape(version)} - \d{{4}}-\d\d-\d\d", parts[1])


def test_the_glossary_has_its_words_once_each() -> None:
    text = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| ([a-z ]+) \|", text[text.index("## Words") :], re.MULTILINE)[1:]
    assert len(words) == len(set(words)) >= 20
    others = "\n".join(page.read_text(encoding="utf-8").lower() for page in PAGES if page.name != "README.md")
    assert [word for word in words if word not in others] == []


def test_the_demo_s_rows_are_rows_of_its_table() -> None:
    """The README shows some of them, with the table's own columns."""
    excerpt = README[README.index("The demo ends with a table") : README.index("## What it promises")]
    header, _, *rows = [line for line in excerpt.splitlines() if line.startswith("|")]
    assert [name.strip() for name in header.strip("|").split("|")] == list(COLUMNS)
    asked = {(demo.survey.name, query) for demo in demo_surveys() for query in demo.questions}
    shown = {tuple(cell.strip() for cell in row.strip("|").split("|")[:2]) for row in rows}
    assert shown <= asked
    assert len(shown) == len(rows) > 3
