"""The shape of the tree: small files, small folders, tables instead of tests for a kind, types everywhere."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
LONGEST, FULLEST = 350, 20
WIDE = {"hearsay/ops/commands", "hearsay/ops/experiments"}  # one file each, however many there are


def code(*folders: str, pattern: str = "*.py") -> Iterator[Path]:
    """The files below these folders, links not followed."""
    for folder in folders:
        yield from sorted((ROOT / folder).rglob(pattern))


def test_no_file_is_long() -> None:
    files = [*code("hearsay", "tests"), *code("hearsay", pattern="*.lua")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_no_folder_is_full() -> None:
    files = [*code("hearsay", "tests"), *code("hearsay", pattern="*.lua"), *code("docs", pattern="*.md")]
    counts = Counter(path.parent.relative_to(ROOT).as_posix() for path in files)
    assert {name: count for name, count in counts.items() if count > FULLEST and name not in WIDE} == {}


def test_only_domains_ask_for_a_kind() -> None:
    """Elsewhere a class or a table answers: a new kind of domain must not need a visit to every file."""
    asking = []
    for path in code("hearsay"):
        if path.is_relative_to(ROOT / "hearsay" / "mechanisms" / "domains"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare | ast.Match) and _names_a_kind(node):
                asking.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert asking == []


def _names_a_kind(node: ast.Compare | ast.Match) -> bool:
    operands = [node.left, *node.comparators] if isinstance(node, ast.Compare) else [node.subject]
    return any(re.search(r"\bkinds?\b", ast.unparse(operand)) for operand in operands)


def test_the_type_checker_sees_every_file() -> None:
    """A folder without __init__.py, or a module that nothing imports, would be passed over in silence."""
    checker = [sys.executable, "-m", "mypy", "--verbose"]
    done = subprocess.run(checker, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    seen = {Path(path) for path in re.findall(r"Found source: .*?path='([^']+\.py)'", done.stderr)}
    assert seen == set(code("hearsay"))


def test_every_folder_of_code_is_a_package() -> None:
    folders = {path.parent for path in code("hearsay", "tests")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []
