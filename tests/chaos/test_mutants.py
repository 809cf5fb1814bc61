"""Every guard of every script is needed: without it, some test fails."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hearsay.collector.store import scripts
from tests.chaos.mutants import MUTANTS, mutated

ROOT = Path(__file__).parents[2]


def test_every_mutant_takes_out_what_is_there() -> None:
    for mutant in MUTANTS:
        assert mutated(mutant) != scripts.source(mutant.script, False)


# Ways out that guard nothing: there is nothing to do, or nothing to say.
NO_GUARDS = {
    ("publish", "hello"),
    ("cut", "not head and not stray"),
    ("cut", "ms ~= other_ms"),  # compares ids
    ("trim", "if not at then"),
    ("pressure", "if cause == ''"),
}


def test_every_way_out_of_every_script_has_a_mutant() -> None:
    """A script that gains an early return gains a mutant here, or a reason above why it needs none."""
    for name in scripts.NAMES:
        mutants = [mutated(mutant) for mutant in MUTANTS if mutant.script == name]
        for line in re.findall(r"^.*\bif .*\breturn\b.*$", scripts.source(name, False), re.MULTILINE):
            if any(script == name and part in line for script, part in NO_GUARDS):
                continue
            assert any(line not in text for text in mutants), f"{name}: {line}"


@pytest.mark.slow
def test_no_guard_can_be_taken_out_unnoticed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.chaos.mutants"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr[-2_000:]
