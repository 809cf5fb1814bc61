"""The shape of the tree: small files, small folders, tables instead of tests for a kind, types everywhere."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hearsay.mechanisms import catalogue

ROOT = Path(__file__).parent.parent
LONGEST, FULLEST = 350, 20
NAMES_OF_MECHANISMS = set(catalogue.names()) - {"mean"}  # which is also a query
KINDS_OF_WINDOWS = {"Whole", "Every", "Rounds"}
KEYS_OF_WINDOWS = {"every", "round_reports", "round_within"}
VAGUE = {"found", "place", "few", "far", "said"}
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
ROLES = ("hearsay/collector", "hearsay/producer", "hearsay/workers", "hearsay/estimator")
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


def test_no_folder_has_two_classes_of_one_name() -> None:
    """A reader who meets a name in one file must not be led to the class of its neighbour."""
    classes = Counter(
        (path.parent.relative_to(ROOT).as_posix(), node.name)
        for path in code("hearsay")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in classes.items() if count > 1] == []


def test_a_variable_is_named_by_what_it_holds() -> None:
    """`found` or `place` say where a value came from, not what it is: interval, cell, snapshot, reply."""
    vague = []
    for path in code("hearsay", "examples"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else ""
            if name in VAGUE and not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)):
                vague.append(f"{path.relative_to(ROOT)}:{node.lineno} {name}")
    assert vague == []


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
    programs = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in code(*ROLES)}
    assert {str(path): lines for path, program in programs.items() if (lines := asks_for_an_id(program))} == {}


def test_no_role_imports_one_kind_of_domain() -> None:
    """What every list of cells has, `Cells` says; a class of one kind would be asked for by isinstance."""
    kinds = {home.location.partition(":")[2] for home in catalogue.DOMAINS.values()}
    imports = {
        path.relative_to(ROOT).as_posix(): names
        for path in code(*ROLES)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hearsay.mechanisms")
        if (names := kinds & {alias.name for alias in node.names})
    }
    assert len(kinds) > 8
    assert imports == {}


def test_asking_for_a_mechanism_is_seen() -> None:
    assert asks_for_an_id('mechanism.ID in ("haar", "hierarchical")\nlabel = mechanism.ID\nID == "grr"') == [1, 3]
    assert asks_for_an_id('mechanism.ID.startswith("priv")\nmatch mechanism.ID:\n    case "grr": pass') == [1, 2]
    assert asks_for_an_id('definition["mechanism"] == "haar"\nm.ID[:4] == "priv"\nx = {m.ID: 1}') == [1, 2]


def asks_for_an_id(program: str) -> list[int]:
    """The lines that compare the ID of a mechanism, or anything with the name of one."""
    lines = set()
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            asked = any(map(_is_id, operands)) or any(map(_names_a_mechanism, operands))
        elif isinstance(node, ast.Match):
            asked = _is_id(node.subject)
        else:
            asked = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_id(node.func.value)
        if asked:
            lines.add(node.lineno)
    return sorted(lines)


def _is_id(node: ast.expr) -> bool:
    return re.search(r"\bID\b", ast.unparse(node)) is not None


def _names_a_mechanism(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(map(_names_a_mechanism, node.elts))
    return isinstance(node, ast.Constant) and node.value in NAMES_OF_MECHANISMS


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


def test_only_windows_and_the_store_know_how_long_one_is() -> None:
    """Elsewhere `windows.of`, `position` and `at` answer: windows need not begin at multiples of their length."""
    outside = [path for path in code("hearsay") if not path.is_relative_to(SURVEYS)]
    asking = {path.relative_to(ROOT).as_posix() for path in outside if "every_ms" in path.read_text(encoding="utf-8")}
    assert asking == {"hearsay/collector/store/shard.py"}  # hands it to the script that cuts


def test_asking_for_windows_is_seen() -> None:
    assert asks_for_windows("if mechanism.rounds > 1: pass\nonce = rounds == 1\nx = 1 < m.rounds") == [1, 2, 3]
    assert asks_for_windows("m.rounds >= 2\nif (rounds := m.rounds) > 1: pass\nx = m.rounds - 1 > 0") == [1, 2, 3]
    assert asks_for_windows("type(survey.windows) is kinds.Rounds\nx = survey.windows.__class__ is Whole") == [1, 2]
    assert asks_for_windows("if survey.every: pass\nx = 1 if not s.round_reports else 2\nbool(s.every)") == [1, 2, 3]
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
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "bool"):
            asked = bool(_names(node.args[-1]) & KINDS_OF_WINDOWS) or _is_key_of_windows(node.args[0])
        elif isinstance(node, ast.Match):
            asked = ast.unparse(node.subject).endswith("windows")
        elif isinstance(node, ast.Compare):
            asked = _compares_windows([node.left, *node.comparators])
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            asked = _is_key_of_windows(node.test)
        elif isinstance(node, ast.UnaryOp):
            asked = isinstance(node.op, ast.Not) and _is_key_of_windows(node.operand)
        else:
            asked = isinstance(node, ast.BoolOp) and any(map(_is_key_of_windows, node.values))
        if asked:
            lines.add(node.lineno)
    return sorted(lines)


def _compares_windows(operands: list[ast.expr]) -> bool:
    whole = any(isinstance(each, ast.Constant) and type(each.value) is int for each in operands)
    nothing = any(isinstance(each, ast.Constant) and each.value is None for each in operands)
    return (
        (whole and any(re.search(r"\brounds\b(?!\.)", ast.unparse(each)) for each in operands))
        or (nothing and any(map(_is_key_of_windows, operands)))
        or any(_names(each) & KINDS_OF_WINDOWS for each in operands)
    )


def _is_key_of_windows(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in KEYS_OF_WINDOWS


def _names(node: ast.expr) -> set[str]:
    return set(re.findall(r"\w+", ast.unparse(node)))


def test_the_type_checker_sees_every_file() -> None:
    """A folder without __init__.py, or a module that nothing imports, would be passed over in silence."""
    program = "from mypy.main import process_options as read; print(*(each.path for each in read([])[0]), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {Path(path) for path in done.stdout.splitlines() if path.endswith(".py")} == set(code("hearsay"))


def test_every_folder_of_code_is_a_package() -> None:
    folders = {path.parent for path in code("hearsay", "tests")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_every_family_is_closed_to_the_roles() -> None:
    """A family that is missing in the contract could be imported by any role, and `make check` would not say so."""
    (contract,) = (each for each in CONTRACTS if each["name"].startswith("only ops and mechanisms import a family"))
    ground = {"domains", "queries"}  # their tables list what families share
    families = {name.partition(".")[0] for name in catalogue.FAMILIES} - ground
    assert set(contract["forbidden_modules"]) == {f"{catalogue.PACKAGE}.{family}" for family in families}
    roles = {path.name for path in (ROOT / "hearsay").iterdir() if (path / "__init__.py").exists()}
    assert {name.removeprefix("hearsay.") for name in contract["source_modules"]} == roles - {"ops", "mechanisms"}
