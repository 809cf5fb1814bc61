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
KINDS_OF_WINDOWS = {"Whole", "Every", "Rounds"}
KEYS_OF_WINDOWS = {"every", "round_reports", "round_within"}
WIDE = {"hearsay/ops/commands"}  # one file each, however many there are


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
        if not path.is_relative_to(ROOT / "hearsay" / "mechanisms" / "domains"):
            asking += [f"{path.relative_to(ROOT)}:{line}" for line in asks_for_a_kind(path.read_text(encoding="utf-8"))]
    assert asking == []


def test_asking_for_a_kind_is_seen() -> None:
    assert asks_for_a_kind('domain.kind == "grid"\nkind in ("ordinal", "count")\nkind not in ORDERED_KINDS') == [
        1,
        2,
        3,
    ]
    assert asks_for_a_kind('table["kind"] == "grid"\ntable.get("kind") != "grid"\ncls.KIND == "grid"') == [1, 2, 3]
    assert asks_for_a_kind('match domain.kind:\n    case "grid": pass') == [1]
    assert asks_for_a_kind('form = kind in form.kinds\nkind = table["kind"]\nsize == 3') == []


def test_no_role_asks_which_mechanism_it_has() -> None:
    """A mechanism, its guarantee and its domain answer for themselves, those of families from outside too."""
    roles = [f"hearsay/{role}" for role in ("collector", "producer", "workers", "estimator")]
    programs = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in code(*roles)}
    assert {str(path): lines for path, program in programs.items() if (lines := asks_for_an_id(program))} == {}
    assert asks_for_an_id('mechanism.ID in ("haar", "hierarchical")\nlabel = mechanism.ID\nID == "grr"') == [1, 3]


def asks_for_an_id(program: str) -> list[int]:
    """The lines that compare the ID of a mechanism."""
    compared = [node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Compare)]
    return sorted(
        node.lineno
        for node in compared
        if any(re.search(r"\bID$", ast.unparse(part)) for part in (node.left, *node.comparators))
    )


def asks_for_a_kind(program: str) -> list[int]:
    """The lines that compare something called kind with words, or with a constant that lists kinds."""
    found = []
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Match) and _is_kind(node.subject):
            found.append(node.lineno)
        elif isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            if any(map(_is_kind, operands)) and any(map(_is_words, operands)):
                found.append(node.lineno)
    return sorted(found)


def _is_kind(node: ast.expr) -> bool:
    return re.fullmatch(r"(?:.*\.)?(?:kind|KIND)|.*\[.kind.\]|.*\.get\(.kind.\)", ast.unparse(node)) is not None


def _is_words(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return all(map(_is_words, node.elts))
    if isinstance(node, ast.Name | ast.Attribute):
        return (
            re.fullmatch(r"[A-Z][A-Z_]*KINDS?|KINDS?", node.id if isinstance(node, ast.Name) else node.attr) is not None
        )
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


SURVEYS = ROOT / "hearsay" / "collector" / "survey"


def test_only_windows_know_their_kinds() -> None:
    """Elsewhere `survey.windows` answers: a new kind of windows must not need a visit to every file."""
    asking = []
    for path in code("hearsay"):
        if not path.is_relative_to(SURVEYS) and not path.is_relative_to(ROOT / "hearsay" / "mechanisms"):
            asking += [f"{path.relative_to(ROOT)}:{line}" for line in asks_for_windows(path.read_text("utf-8"))]
    assert asking == []


def test_asking_for_windows_is_seen() -> None:
    assert asks_for_windows("if mechanism.rounds > 1: pass\nonce = rounds == 1\nx = 1 < m.rounds") == [1, 2, 3]
    assert asks_for_windows("isinstance(survey.windows, Rounds)\nisinstance(windows, windows.Whole)") == [1, 2]
    assert asks_for_windows("from hearsay.collector.survey.windows import ALL, Every") == [1]
    assert asks_for_windows("match survey.windows:\n    case Rounds(): pass") == [1]
    assert asks_for_windows("survey.every is None\nsurvey.round_reports is not None") == [1, 2]
    assert asks_for_windows("survey.windows.in_rounds\nfor number in range(rounds): pass\nnumber < rounds") == []
    assert asks_for_windows('{"every": survey.every}\nisinstance(x, Range)') == []


def asks_for_windows(program: str) -> list[int]:
    """The lines that ask which kind of windows a survey has: by class, by the number of rounds, by keys of the file."""
    lines = set()
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("survey.windows"):
            asked = bool({alias.name for alias in node.names} & KINDS_OF_WINDOWS)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            asked = bool(set(re.findall(r"\w+", ast.unparse(node.args[1]))) & KINDS_OF_WINDOWS)
        elif isinstance(node, ast.Match):
            asked = ast.unparse(node.subject).endswith("windows")
        elif isinstance(node, ast.Compare):
            operands = {ast.unparse(each) for each in (node.left, *node.comparators)}
            names = {each.rpartition(".")[2] for each in operands}
            asked = ("rounds" in names and "1" in operands) or ("None" in operands and bool(names & KEYS_OF_WINDOWS))
        else:
            continue
        if asked:
            lines.add(node.lineno)
    return sorted(lines)


def test_the_type_checker_sees_every_file() -> None:
    """A folder without __init__.py, or a module that nothing imports, would be passed over in silence."""
    program = "from mypy.main import process_options as read; print(*(each.path for each in read([])[0]), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {Path(path) for path in done.stdout.splitlines() if path.endswith(".py")} == set(code("hearsay"))


def test_every_folder_of_code_is_a_package() -> None:
    folders = {path.parent for path in code("hearsay", "tests")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []
