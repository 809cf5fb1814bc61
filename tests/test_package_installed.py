"""In fresh environments (slow tier): what a device gets by default, and what the extras make of it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_package import checkout, run, wheel

__all__ = ["checkout", "wheel"]  # fixtures

pytestmark = pytest.mark.slow
DEVICE = """
import sys
from hearsay import Device, simulate
for mechanism in ("haar", "hierarchical", "flat", "hrr", "metric-l1", "auto"):
    survey = {"name": "a", "mechanism": mechanism, "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 16}}
    assert isinstance(Device(survey).report(3), bytes)
    assert simulate(survey, [3] * 1000).reports == 1000
assert not {"redis", "rq", "scipy", "click", "uvicorn"} & set(sys.modules)
"""


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the programs of an environment that has the wheel and its dependencies only."""
    return environment(tmp_path_factory.mktemp("bare"), str(wheel))


def environment(folder: Path, requirement: str) -> Path:
    run(sys.executable, "-m", "venv", str(folder), cwd=folder)
    run(str(folder / "bin" / "pip"), "install", "--quiet", requirement, cwd=folder)
    return folder / "bin"


def test_only_hearsay_is_ours(bare: Path) -> None:
    installed = run(str(bare / "pip"), "list", "--format", "json", cwd=bare)
    names = {package["name"] for package in json.loads(installed)} - {"pip", "setuptools"}
    assert {"numpy", "msgpack", "pydantic", "hearsay-ldp"} <= names
    assert not {"redis", "rq", "scipy", "click", "rich", "threadpoolctl"} & names
    files = run(str(bare / "pip"), "show", "--files", "hearsay-ldp", cwd=bare).partition("Files:\n")[2].split()
    assert {name.split("/")[0] for name in files} - {"..", "hearsay"} == {
        name.split("/")[0] for name in files if ".dist-info/" in name
    }


def test_a_device_works_with_what_comes_by_default(bare: Path, tmp_path: Path) -> None:
    run(str(bare / "python"), "-c", DEVICE, cwd=tmp_path)


def test_the_command_says_in_one_line_what_to_install(bare: Path, tmp_path: Path) -> None:
    done = subprocess.run([bare / "hearsay", "demo"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.endswith("pip install 'hearsay-ldp[server,local]'")


def test_a_zip_without_symbolic_links_installs_and_the_demo_runs(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The folders at the top are links for people; nothing that is installed comes by them."""
    programs = environment(tmp_path_factory.mktemp("extras"), f"{checkout}[server,local]")
    empty = tmp_path_factory.mktemp("empty")
    shown = run(str(programs / "hearsay"), "demo", cwd=empty)
    assert "intervals hold the truth" in shown
    rows = json.loads((empty / "var" / "demo" / "summary.json").read_text())
    assert rows
    assert not any(row["gross"] for row in rows)
    done = subprocess.run(
        [programs / "hearsay", "experiment", "context-aware"], cwd=empty, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "matplotlib" in done.stderr) == (2, True)
