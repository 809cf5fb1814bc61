"""What axe-core, the usual checker of accessibility, says of every view, light and dark."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.browser.chromium import Tab, program
from tests.browser.conftest import EXAMPLES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(program() is None, reason="no Chromium on this machine: install Debian's chromium"),
    pytest.mark.skipif(shutil.which("npm") is None, reason="no npm on this machine, which axe-core comes with"),
]
GRAVE = {"serious", "critical"}


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The checker's source, from its package."""
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run(["npm", "install", "--silent", "--prefix", str(folder), "axe-core"], timeout=120, check=False)
    source = folder / "node_modules" / "axe-core" / "axe.min.js"
    if done.returncode or not source.exists():
        pytest.skip("axe-core cannot be installed here")
    return source.read_text(encoding="utf-8")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_serious(tab: Tab, address: str, axe: str, dark: bool, tmp_path: Path) -> None:
    tab.look(1000, 1400, dark)
    grave = []
    for name in ("", *(f"surveys/{each}" for each in EXAMPLES)):
        question = "?q=quantile+0.5+0.9" if name.endswith("minutes") else ""
        tab.open(f"{address}{name}{question}")
        tab.run(axe + "; 0")
        found = tab.run(
            "axe.run(document, {resultTypes: ['violations']}).then((result) => result.violations.map((each) =>"
            "({id: each.id, impact: each.impact, html: each.nodes[0].html, why: each.nodes[0].failureSummary})))"
        )
        grave += [{"view": name, **each} for each in found if each["impact"] in GRAVE]
    assert grave == []
