"""Every guard of the ledger is needed: without one of them the walk's laws break.

A mutant is the ledger's own source with one piece of text replaced. The walk must notice each of them.
"""

import inspect
from pathlib import Path
from types import ModuleType

import pytest

from hearsay.producer.budget import ledger as ledger_module
from tests.producer.budget import world as world_module
from tests.producer.budget.test_walk import SURVEYS, walk

WALKS, STEPS = 36, 120
WAITING_ONLY = """WHERE number = ? AND state = ?", (number, WAITING)
            ).fetchone()
            if row is None:"""
MUTANTS = {
    "sent without a mark": ("SET sent = max(sent, 0) + 1, id = ?", "SET sent = 0, id = ?"),
    "a new id for what was sent": ("if sent <= 0 and not -EARLY_MS", "if not -EARLY_MS"),
    "a report that costs nothing": ("SET charges = charges + ?, answered", "SET charges = charges + 0 * ?, answered"),
    "a survey answered in every window": ("elif rule.repeat == ONCE and charges:", "elif False:"),
    "a life without end": ("if rule.lifetime_epsilon is not None and not is_within", "if False and not is_within"),
    "a refusal takes back every attempt": ("CASE WHEN sent > 1 THEN sent - 1 ELSE -1 END", "-1"),
    "what was sent is given back": ("return RETURNED if sent == 0 else", "return RETURNED if True else"),
    "what was refused is given back": ("return RETURNED if sent == 0 else", "return RETURNED if sent <= 0 else"),
    "a finished report is sent again": (WAITING_ONLY, WAITING_ONLY.replace("state = ?", "? != ''")),
    "sent again after a day": ("if sent > 0 and age_ms >= OLD_MS:", "if False:"),
    "sent after its window": ("if end_ms is not None and now_ms >= end_ms:", "if False:"),
}


def mutated(old: str, new: str) -> ModuleType:
    source = inspect.getsource(ledger_module)
    assert source.count(old) == 1, f"{old!r} is no longer in the ledger"
    module = ModuleType(ledger_module.__name__)
    exec(compile(source.replace(old, new), "mutant", "exec"), module.__dict__)  # noqa: S102 - our own source
    return module


@pytest.mark.parametrize("name", MUTANTS)
def test_the_walk_notices_a_ledger_without_one_of_its_guards(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world_module, "Ledger", mutated(*MUTANTS[name]).Ledger)
    with pytest.raises(AssertionError):
        _walk_far(tmp_path)


def _walk_far(folder: Path) -> None:
    for number in range(WALKS):
        for kind, survey in SURVEYS.items():
            walk(survey, folder / f"{number}-{kind}", number, STEPS)
