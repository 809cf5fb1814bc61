"""What is installed: the package and nothing beside it, whole, from a checkout with or without symbolic links."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout as a zip without symbolic links gives it, as Windows and download buttons do."""
    folder = tmp_path_factory.mktemp("zip") / "hearsay"
    for name in _tracked():
        if not (ROOT / name).is_symlink():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
    return folder


@pytest.fixture(scope="module")
def wheel(checkout: Path) -> Path:
    """Built without the net: the build's own requirement is installed for the tests."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist", cwd=checkout)
    (built,) = (checkout / "dist").glob("*.whl")
    return built


def test_the_wheel_has_the_whole_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    ours = {name for name in names if ".dist-info/" not in name}
    assert ours == {name for name in _tracked() if name.startswith("hearsay/")}
    assert {name.split("/")[0] for name in names - ours} == {
        wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info"
    }


def test_it_works_from_a_folder_with_nothing_else(wheel: Path, tmp_path: Path) -> None:
    """Without the checkout; the dependencies are those of this environment."""
    site, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(wheel), cwd=empty)
    assert {entry.name for entry in site.iterdir() if not entry.name.endswith(".dist-info")} == {"hearsay", "bin"}
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import hearsay; print(hearsay.__file__);"
        "from hearsay.ops.cli import run; sys.exit(run(['survey', 'show', sys.argv[2]]))"
    )
    survey = site / "hearsay" / "ops" / "surveys" / "session-minutes.toml"
    shown = run(sys.executable, "-c", program, str(site), str(survey), cwd=empty)
    assert shown.splitlines()[0] == str(site / "hearsay" / "__init__.py")
    assert "haar" in shown


def _tracked() -> list[str]:
    return run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines()


def run(*words: str, cwd: Path) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
