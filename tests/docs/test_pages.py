"""Every block of the pages that a newcomer reads works as printed, in order, in a folder like a fresh clone."""

import subprocess
import sys
from pathlib import Path

import pytest

from hearsay.ops.server.embedded import free_port
from tests.docs.blocks import blocks
from tests.docs.clone import ROOT, clone
from tests.docs.session import SERVICE, Failed, Session, commands, difference

DOCS = ROOT / "docs"
START = [ROOT / "README.md", DOCS / "start" / "getting-started.md"]  # whose readers have not activated anything yet
FIRST = [*START, DOCS / "start" / "python.md", DOCS / "concepts" / "rounds.md", DOCS / "reference" / "queries.md"]
OTHERS = [
    *sorted({*(DOCS / "start").glob("*.md"), *(DOCS / "concepts").glob("*.md")} - {*FIRST}),
    *sorted((DOCS / "how-to").glob("*.md")),
    *(DOCS / "explanation" / f"{name}.md" for name in ("counts", "key-value")),
    DOCS / "reference" / "values.md",
    *sorted((ROOT / "examples").rglob("*.md")),
]
# What takes minutes, or would run these tests again: by whom it is run.
ELSEWHERE = {
    "make setup": ".ci/run",
    "make demo": "tests/ops/test_demo.py",
    "hearsay demo": "tests/test_package_installed.py",
    "make wheel": "tests/test_package.py",
    'pip install "$(echo dist/hearsay_ldp-*.whl)[server,local]"': "tests/test_package_installed.py",
    "pip install dist/hearsay_ldp-*.whl": "tests/test_package_installed.py",
    "hearsay audit hrr": "tests/ops/audit/test_audit.py",
    "hearsay experiment context-aware": "tests/ops/experiments/test_context_aware.py",
    "hearsay experiment ranges --quick": "tests/ops/experiments/test_ranges.py",
    "hearsay experiment metric --quick": "tests/ops/experiments/test_metric.py",
    "hearsay experiment marginals --quick": "tests/ops/experiments/test_marginals.py",
    "hearsay experiment key-value --quick": "tests/ops/experiments/test_key_value.py",
    "hearsay experiment counts --quick": "tests/ops/experiments/test_counts.py",
    "hearsay experiment calibration --quick": "tests/ops/experiments/test_calibration.py",
    "hearsay bench peers": "tests/ops/bench/test_peers.py",
    "make verify": "Makefile",
}

LONG = {"planning", "ratings", "correlations", "counts", "key-value", "values"}  # several seconds each


def has_services(page: Path) -> bool:
    """Whether it starts any, in terminals of their own or in the background."""
    lines = [line for block in blocks(page) if block.language == "sh" for line in block.text.split("\n")]
    return any(SERVICE.match(line) or line.endswith(("&", "& done")) for line in lines)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def in_order(page: Path) -> object:
    """A page that takes a whole service or many seconds, and is none of the first, is run by `make verify`."""
    marks = [pytest.mark.slow] if page in OTHERS and (page.stem in LONG or has_services(page)) else []
    return pytest.param(page, id=name_of(page), marks=marks)


@pytest.mark.parametrize("page", [in_order(page) for page in [*FIRST, *OTHERS]])
def test_every_block_works_as_printed(page: Path, tmp_path: Path) -> None:
    failures = []
    with clone(tmp_path / "hearsay") as folder:
        session = Session(folder, ELSEWHERE, activated=page not in START)
        try:
            for block in blocks(page):
                try:
                    session.run(block)
                except Failed as failed:
                    failures.append(f"{name_of(page)}:{block.line}: {failed}")
        finally:
            session.close()
    assert not failures, "\n\n".join(failures)


def test_every_other_page_shows_only_commands_that_are_run() -> None:
    """Pages that are written from code, and those that explain."""
    pages = {*DOCS.rglob("*.md")} - {*FIRST, *OTHERS}
    run = _shown([*FIRST, *OTHERS]) | {*ELSEWHERE}
    unknown = {name_of(page): left for page in pages if (left := _shown([page]) - run)}
    assert unknown == {}


def test_what_is_run_elsewhere_is_on_a_page_and_the_place_exists() -> None:
    assert set(ELSEWHERE) - _shown([*FIRST, *OTHERS]) == set()
    assert [place for place in ELSEWHERE.values() if not (ROOT / place).exists()] == []


def _shown(pages: list[Path]) -> set[str]:
    """The lines of the commands, and the programs, of some pages."""
    every = [block for page in pages for block in blocks(page) if block.file is None]
    lines = {line for block in every if block.language == "sh" for line in block.text.splitlines()}
    programs = {block.text for block in every if block.language in ("python", "console")}
    return {line.partition("  #")[0].strip() for line in lines if line.strip()} | programs


def run(page: Path, folder: Path) -> list[str]:
    """What fails of a page."""
    failures = []
    with clone(folder / "hearsay") as made:
        session = Session(made, {}, activated=True)
        for block in blocks(page):
            try:
                session.run(block)
            except Failed as failed:
                failures.append(str(failed))
        session.close()
    return failures


WRONG = """
This is `lines.csv`:

```csv
value
1
```

```sh
cat lines.csv; cd docs
pwd | sed 's:.*/::'
```

```text
value
1
docs
```

```python
answer = 41
```

```python
print(answer)
```

```text
4...
```

```python
print(answer)
```

```text
42
```

```sh
false
```
"""


def test_a_wrong_page_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(WRONG)
    other, failed = run(page, tmp_path)
    assert other == "the page shows\n42\n\nbut this is printed\n41\n"
    assert failed.startswith("exit code 1 of\nfalse\n")


def test_shown_output_may_leave_out_what_differs() -> None:
    assert difference("took ... s\n", "took 1.3 s   \n") == ""
    assert difference("took ... s\n", "took 1.3 ms\n") != ""


def test_commands_of_several_lines_stay_together() -> None:
    assert commands("# a remark\nfor a in 1 2; do\n  echo $a\ndone\necho a \\\n  b\ncat <<E\nx\nE\n") == [
        "for a in 1 2; do\n  echo $a\ndone",
        "echo a \\\n  b",
        "cat <<E\nx\nE",
    ]


def test_the_program_that_makes_a_cluster_says_where_to_look_if_a_node_is_not_there() -> None:
    page = (DOCS / "how-to" / "operating.md").read_text(encoding="utf-8")
    program = page.partition("python - <<'END'\n")[2].partition("\nEND\n")[0]
    assert "(7391, 7392, 7393)" in program
    port = free_port()
    program = program.replace("(7391, 7392, 7393)", f"({port},)")
    ended = subprocess.run([sys.executable, "-c", program], env={"SECRET": "x"}, capture_output=True, text=True)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"the server on port {port}: ")
    assert ended.stderr.endswith(f"; servers/{port}/log says why\n")
    assert ended.stderr.count("\n") == 1
