"""The site: every page and link of it is right, and it loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hearsay.ops.pages.docs import DOCS
from hearsay.ops.pages.pictures import PICTURES
from tests.docs.clone import ROOT

LOADED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=[\"']?(?:https?:)?//", re.IGNORECASE)


def build(folder: Path, config: Path) -> "subprocess.CompletedProcess[str]":
    pytest.importorskip("mkdocs")
    words = ["-m", "mkdocs", "build", "--strict", "--config-file", str(config), "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run([sys.executable, *words], cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)


def test_the_site_is_built_with_every_link_right_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    done = build(tmp_path / "site", ROOT / "mkdocs.yml")
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) >= len(list(DOCS.rglob("*.md")))
    assert [page.name for page in pages if LOADED.search(page.read_text(encoding="utf-8"))] == []
    assert (tmp_path / "site" / "snapshot.schema.json").exists()


def test_a_wrong_link_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("[no such page](nowhere.md)\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text("site_name: wrong\n")
    done = build(tmp_path / "site", config)
    assert done.returncode != 0
    assert "nowhere.md" in done.stderr


def test_every_concept_has_its_picture() -> None:
    assert {page.stem for page in (DOCS / "concepts").glob("*.md")} == set(PICTURES)
    for name in PICTURES:
        assert f"(../pictures/{name}.svg)" in (DOCS / "concepts" / f"{name}.md").read_text(encoding="utf-8")
        assert (DOCS / "pictures" / f"{name}.svg").exists()
