"""Pages do not point into the void, and what they show works."""

import ast
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from hearsay.collector.survey.survey import load, parse
from hearsay.mechanisms import catalogue
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import SpecificationError
from hearsay.ops.demo.scene import SURVEYS
from hearsay.ops.pages.docs import DOCS
from hearsay.producer import Device

ROOT = DOCS.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(DOCS.rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def each_page(test: object) -> object:
    return pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())(test)


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


@each_page
def test_paths_named_exist(page: Path) -> None:
    for path in re.findall(r"`((?:hearsay|tests|docs|ops)/[\w./-]+)`", page.read_text(encoding="utf-8")):
        assert (ROOT / path).exists(), f"{page.name} names {path}"


@each_page
def test_surveys_shown_can_be_used(page: Path) -> None:
    for block in blocks(page, "toml"):
        table = tomllib.loads(block)
        if {"name", "mechanism", "domain"} <= set(table):
            assert parse(table).name == table["name"]


@each_page
def test_a_survey_has_one_definition(page: Path) -> None:
    """Who has registered the shipped file must be able to go on with any page."""
    for block in blocks(page, "toml"):
        table = tomllib.loads(block)
        shipped = SURVEYS / f"{table.get('name')}.toml"
        if shipped.exists() and "mechanism" in table:
            assert parse(table).canonical() == load(shipped).canonical(), f"{page.name}: {table['name']}"


@each_page
def test_programs_shown_find_what_they_import(page: Path) -> None:
    for block in blocks(page, "python"):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom):
                assert node.module is not None
                if (page.parent / f"{node.module}.py").exists():
                    continue  # an example's own program
                assert node.module.split(".")[0] == "hearsay"
                for name in node.names:
                    assert hasattr(import_module(node.module), name.name), f"{node.module} has no {name.name}"


INDEXES = [DOCS / "README.md", DOCS / "explanation" / "decisions" / "README.md"]


@pytest.mark.parametrize("index", INDEXES, ids=["docs", "decisions"])
def test_the_index_has_every_page(index: Path) -> None:
    text = index.read_text(encoding="utf-8")
    for page in index.parent.rglob("*.md"):
        name = page.relative_to(index.parent).as_posix()
        listed = "decisions" in page.parts and page.name != "README.md" and index.parent == DOCS
        assert page == index or listed or f"({name})" in text, f"{index} does not name {name}"


def test_the_device_of_the_readme() -> None:
    (block,) = blocks(PAGES[0], "toml")
    assert isinstance(Device(tomllib.loads(block)).report(42), bytes)


@pytest.mark.parametrize("domain", catalogue.shipped_domains(), ids=lambda domain: domain.KIND)
def test_the_table_of_domains_names_every_key(domain: type[Domain]) -> None:
    with pytest.raises(SpecificationError, match="allowed: ") as refused:
        domain.parse({"kind": domain.KIND, "nobody-reads-this": 1})
    allowed = str(refused.value).partition("allowed: ")[2].split(", ")
    told = re.findall(r"`(?:\[\[domain\.)?(\w+)(?:\]\])?`", domain.KEYS)
    assert [key for key in allowed if key not in ("kind", *told)] == []
