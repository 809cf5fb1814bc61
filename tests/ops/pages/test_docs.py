"""Pages do not point into the void, and what they show works."""

import re
import tomllib
from pathlib import Path

import pytest

from hearsay.collector.survey.survey import parse
from hearsay.ops.pages.docs import DOCS
from hearsay.producer import Device

PAGES = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_surveys_shown_can_be_used(page: Path) -> None:
    for block in re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        table = tomllib.loads(block)
        if {"name", "mechanism", "domain"} <= set(table):
            assert parse(table).name == table["name"]


def test_the_device_of_the_readme() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGES[0].read_text(encoding="utf-8"), re.DOTALL)
    assert isinstance(Device(tomllib.loads(block)).report(42), bytes)
