"""Whatever comes in from outside is accepted or refused, quickly and without a traceback. CONTRIBUTING.md has a run.

`make test` runs some thousand cases, `make verify` a million. `python -m tests.fuzz TARGET SEED CASES` repeats a part.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from tests.fuzz.plan import PARTS, PLAN, QUICK, TARGETS, Around, fuzz

Record = Callable[[str, object], None]


@pytest.fixture
def around(tmp_path: Path, client: redis.Redis, prefix: str) -> Around:
    return Around(tmp_path, client, prefix)


def test_a_million_in_all() -> None:
    assert set(PLAN) == set(QUICK) == set(TARGETS)
    assert sum(cases for _, cases, _ in PARTS) >= 1_000_000
    assert min(cases * parts for cases, parts in PLAN.values()) >= 50_000


@pytest.mark.parametrize("target", QUICK)
def test_some_thousand_cases(target: str, around: Around) -> None:
    tally = fuzz(target, 1, QUICK[target], around)
    tally.check()
    assert len(tally.outcomes) > 1  # some were accepted, some refused


@pytest.mark.slow
@pytest.mark.parametrize(("target", "cases", "part"), PARTS)
def test_a_million_cases(target: str, cases: int, part: int, around: Around, record_property: Record) -> None:
    tally = fuzz(target, 100 + part, cases, around)
    record_property("fuzz", tally.row())
    tally.check()
