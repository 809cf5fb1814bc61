"""Row 13 of an attacker's list: what is imported is declared, and an installation can be had again."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import hearsay

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# What a name in an import is called where it is installed from.
DISTRIBUTIONS = {"prometheus_client": "prometheus-client", "mpl_toolkits": "matplotlib"}
EXTRAS = ("server", "local", "experiments", "peers", "dev", "site")


def declared(*extras: str) -> dict[str, Requirement]:
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in PROJECT["optional-dependencies"][extra])]
    wanted = [Requirement(line) for line in lines]
    return {canonicalize_name(each.name): each for each in wanted}


def test_row_13_every_import_is_declared() -> None:
    """`h11` was imported, and came only because uvicorn needs it."""
    known = declared(*(extra for extra in EXTRAS if extra not in ("dev", "site")))
    imported: set[str] = set()
    for path in Path(hearsay.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                imported.add(node.module.partition(".")[0])
    foreign = imported - set(sys.stdlib_module_names) - {"hearsay", "_typeshed"}
    missing = {name for name in foreign if canonicalize_name(DISTRIBUTIONS.get(name, name)) not in known}
    assert missing == set()


def test_row_13_the_constraints_pin_every_requirement_and_name_no_host() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+", line) for line in lines)
    pinned = {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}
    for name, wanted in declared("server", "local", "experiments", "dev", "site").items():
        if name != "setuptools":  # pip leaves it out of what it lists
            assert wanted.specifier.contains(pinned[name]), name


def test_row_13_the_workflow_runs_on_every_python_since_3_11() -> None:
    (workflow,) = (ROOT / ".github" / "workflows").glob("*.yml")
    for minor in range(11, 15):
        assert f'"3.{minor}"' in workflow.read_text()


PRETENDED = """#!/bin/sh
case "$*" in
*"pip install"*) echo "Collecting numpy<3,>=2.0"; echo installed >> installations ;;
*) exec {python} "$@" ;;
esac
"""


def test_set_up_says_what_it_does_and_installs_again_only_where_that_matters(tmp_path: Path) -> None:
    """A change of a linter's settings, or a new time of a file, is none."""
    for name in ("pyproject.toml", "constraints.txt", ".ci/setup"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(PRETENDED.format(python=sys.executable))
    python.chmod(0o755)

    def set_up() -> str:
        script = ["sh", ".ci/setup"]
        return subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    def change(name: str, old: str, new: str) -> None:
        text = (tmp_path / name).read_text()
        assert old in text
        (tmp_path / name).write_text(text.replace(old, new))

    first = set_up()
    assert "  found numpy\n" in first
    assert ". .venv/bin/activate" in first
    change("pyproject.toml", "line-length = 120", "line-length = 121")
    assert set_up() == ""
    change("pyproject.toml", '"msgpack>=1.0.8,<2"', '"msgpack>=1.0.9,<2"')
    assert "installing" in set_up()
    change("constraints.txt", "mkdocs==1.6.1", "mkdocs==1.6.0")
    assert "installing" in set_up()
    assert set_up() == ""
    assert (tmp_path / "installations").read_text().count("installed") == 3


def test_a_program_beside_the_checkout_imports_hearsay(tmp_path: Path) -> None:
    """The checkout's own name is often `hearsay`: that folder is no package, and must not hide the installed one."""
    (tmp_path / "hearsay").symlink_to(ROOT)
    program = "from hearsay import Device; print(Device.__module__)"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "hearsay.producer.device\n", done.stderr


def test_a_checkout_that_was_moved_or_copied_is_set_up_anew(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt", ".ci/setup"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    program = tmp_path / ".venv" / "bin" / "hearsay"
    program.parent.mkdir(parents=True)
    (tmp_path / ".venv" / ".installed").touch()
    ours, others = (program.with_name("python"), "/bin/sh"), ("/gone/.venv/bin/python", sys.executable)
    for interpreter, wanted in (*((each, False) for each in ours), *((each, True) for each in others)):
        program.write_text(f"#!{interpreter}\n")
        done = subprocess.run(["make", "-n", "setup"], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert (".ci/setup" in done.stdout) == wanted, done.stdout
