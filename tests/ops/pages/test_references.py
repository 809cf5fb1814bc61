"""Every paper that a comment cites stands in docs/explanation/references.md, and a theorem has an owner."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearsay.ops.pages.docs import DOCS

PACKAGE = DOCS.parent / "hearsay"
NAME = r"[A-Z][a-zéš]+"
WITH_YEAR = re.compile(rf"\b({NAME})(?:(?:, {NAME})*,? and {NAME}|(?:, {NAME})+| et al\.)?,? \(?((?:19|20)\d\d)\b")
WITHOUT_YEAR = re.compile(rf"\b({NAME}) et al\.(?!,? \(?\d{{4}})")
OWNED = re.compile(r"\b(?:theorem|proposition|lemma|corollary)s? \d", re.IGNORECASE)
BY_LETTER = re.compile(r"\b[CKP] (?:theorem|proposition|lemma|algorithm|section|figure|table|\(?\d)")
NOT_AUTHORS = {"Table", "Python", "Redis", "Valkey", "January", "December"}


def cited_as() -> list[str]:
    """The first column of every table of the page."""
    page = (DOCS / "explanation" / "references.md").read_text(encoding="utf-8")
    return [row.split("|")[1].strip() for row in page.splitlines() if row.startswith("| ")]


def texts() -> Iterator[Path]:
    yield from sorted(PACKAGE.rglob("*.py"))
    yield from sorted(path for path in DOCS.rglob("*.md") if path.name != "references.md")


@pytest.mark.parametrize("path", list(texts()), ids=lambda path: path.relative_to(DOCS.parent).as_posix())
def test_citations_can_be_looked_up(path: Path) -> None:
    text, known = " ".join(path.read_text(encoding="utf-8").split()), cited_as()
    wanted = {(name, year) for name, year in WITH_YEAR.findall(text) if name not in NOT_AUTHORS}
    for name, year in wanted:
        assert any(name in entry and year in entry for entry in known), f"{name} {year}"
    for name in WITHOUT_YEAR.findall(text):
        assert any(name in entry for entry in known), name
    if OWNED.search(text):
        owned = BY_LETTER.search(text) or any(name in text for name in ("Kulkarni", "Xiang", "Ye et al", "PrivKV"))
        assert owned, "whose theorem is it?"


def test_the_page_would_notice_a_stranger() -> None:
    assert WITH_YEAR.findall("as in Somebody, Other and Third 1999, and Lone 2001; Many et al. 2010") == [
        ("Somebody", "1999"),
        ("Lone", "2001"),
        ("Many", "2010"),
    ]
    assert WITHOUT_YEAR.findall("Many et al. 3.1, Some et al. 2010") == ["Many"]
