"""Every guard and every condition of every script is needed: without it, some test fails."""

import subprocess
import sys
from pathlib import Path

import pytest

from hearsay.collector.store import scripts
from tests.chaos.conditions import EQUIVALENT, all_switched, conditions, switched
from tests.chaos.mutants import MUTANTS, mutated

ROOT = Path(__file__).parents[2]
ASKS_NOTHING = {"stage", "now", "marks"}  # scripts without a condition


def test_every_mutant_takes_out_what_is_there() -> None:
    for mutant in (*MUTANTS, *switched()):
        assert mutated(mutant) != scripts.source(mutant.script, False)


def test_every_condition_of_every_script_has_a_mutant_or_a_reason() -> None:
    """A script that gains a condition gains two mutants; what makes no difference is listed with its reason."""
    for name in scripts.NAMES:
        assert bool(conditions(name)) == (name not in ASKS_NOTHING)
    every = {(mutant.script, *mutant.guard.split(": ", 1)) for mutant in all_switched()}
    assert set(EQUIVALENT) <= every, "a reason for a condition that is no longer there"
    assert all(len(reason) > 10 for reason in EQUIVALENT.values())


@pytest.mark.slow
def test_a_mutant_that_changes_nothing_is_not_noticed() -> None:
    """Else whatever makes the tests fail would pass for a test that noticed."""
    code = (
        "from tests.chaos.mutants import GUARDS, Mutant, is_noticed\n"
        "for new, noticed in (('return 0 end ', False), ('known = known or \"0 0\" end', True)):\n"
        "    test = GUARDS + '::test_an_unknown_writer_leaves_nothing'\n"
        "    mutant = Mutant('leave', 'control', 'return 0 end', new, (test,))\n"
        "    assert is_noticed(mutant) == noticed, new\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("part", ["1/2", "2/2"])
def test_no_guard_can_be_taken_out_unnoticed(part: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.chaos.mutants", part], cwd=ROOT, capture_output=True, text=True, check=False
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr[-2_000:]
