"""Random walks of a device through failures: reports, crashes between any two statements, retries, no network, changed
clocks, new windows, two processes on one ledger. The laws are in `World.check`."""

from collections import Counter
from pathlib import Path

import pytest

from hearsay.collector.survey.survey import Survey, parse
from tests.producer.budget.world import World

PLAIN = {"name": "walk", "mechanism": "hrr", "epsilon": 0.5, "domain": {"kind": "binary"}}
HOURLY = {**PLAIN, "window": {"every": "1h"}}
SURVEYS = {
    "once": parse(PLAIN),
    "once in windows": parse({**HOURLY, "participation": {"repeat": "once"}}),
    "every window": parse(HOURLY),
    "every week": parse({**PLAIN, "window": {"every": "7d"}}),
    "limited": parse({**HOURLY, "participation": {"repeat": "every-window", "lifetime_epsilon": 5.0}}),
    "sampled": parse({**HOURLY, "participation": {"repeat": "sampled", "of": 3}}),
}


def walk(survey: Survey, path: Path, seed: int, steps: int) -> World:
    world = World(survey, path, seed)
    for _ in range(steps):
        world.step()
    return world


@pytest.mark.parametrize("name", SURVEYS)
def test_spent_is_never_below_sent(name: str, tmp_path: Path) -> None:
    walk(SURVEYS[name], tmp_path / "ledger", 1, 120)


@pytest.mark.slow
def test_ten_thousand_steps(tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(20):
        for number, survey in enumerate(SURVEYS.values()):
            world = walk(survey, tmp_path / f"{seed}-{number}", seed, 100)
            outcomes.update(world.outcomes)
    assert outcomes["sent"] > 100
    assert outcomes["kept"] > 100
    assert outcomes["crash"] > 100


def test_the_walk_meets_what_it_is_for(tmp_path: Path) -> None:
    world = walk(SURVEYS["every window"], tmp_path / "ledger", 3, 150)
    assert {"sent", "kept", "budget-spent", "crash"} <= set(world.outcomes)
