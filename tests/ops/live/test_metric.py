"""Metric privacy through server, collector, worker and query, all of them real processes."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hearsay.ops.server.processes import Pipeline
from hearsay.ops.server.waiting import wait_until_folded

WEIGHTED = """
name = "spending-{weights}"
mechanism = "metric-l1"
epsilon = 1.5
[domain]
kind = "grid"
axes = [{{ name = "age", size = 6 }}, {{ name = "spent", size = 9 }}]
[options]
weights = "{weights}"
"""
LINEAR = """
name = "visits"
mechanism = "matrix"
epsilon = 2.0
[domain]
kind = "ordinal"
size = 4
[options]
strategy = [[1, 1, 0, 0], [0, 0, 1, 1]]
workload = [[1, 1, 0, 0], [1, 1, -1, -1]]
metric = "ldp"
"""
MILLION = """
name = "million"
mechanism = "metric-l1"
epsilon = 3.0
[domain]
kind = "grid"
sizes = [10, 10, 10, 10, 10, 10]
"""


class Live:
    """Commands against the running pipeline."""

    def __init__(self, pipeline: Pipeline, run: Callable[..., str], folder: Path) -> None:
        self.pipeline, self.run, self.folder = pipeline, run, folder

    def collect(self, name: str, survey: str, header: str, rows: np.ndarray) -> None:
        """Register a survey and fold one report for each row."""
        (self.folder / "survey.toml").write_text(survey)
        lines = [",".join(map(str, row)) for row in rows.tolist()]
        (self.folder / "values.csv").write_text("\n".join([header, *lines]) + "\n")
        self.run("survey", "add", str(self.folder / "survey.toml"))
        self.run("produce", name, "--values", str(self.folder / "values.csv"), "--seed", "5", "--json")
        wait_until_folded(self.pipeline.registry().get(name), len(rows))

    def ask(self, name: str, *words: str) -> list[dict]:
        return list(json.loads(self.run("query", name, "--json", *words)))


@pytest.fixture
def live(pipeline: Pipeline, run: Callable[..., str], tmp_path: Path) -> Live:
    return Live(pipeline, run, tmp_path)


@pytest.mark.parametrize("weights", ["public", "private"])
def test_weighted_ranges(weights: str, live: Live) -> None:
    name, age = f"spending-{weights}", np.arange(8_000) % 6
    spent = np.minimum(age + np.arange(8_000) % 4, 8)
    live.collect(name, WEIGHTED.format(weights=weights), "age,spent", np.stack([age, spent], axis=1))
    (found,) = live.ask(name, "weighted", "2", "4")
    assert abs(found["value"] - (spent * ((age >= 2) & (age <= 4))).mean()) < 6 * found["stderr"]
    assert len(live.ask(name, "frequencies")) == 6
    assert abs(live.ask(name, "range", "2", "4")[0]["value"] - 0.5) < 0.1


def test_a_workload(live: Live) -> None:
    live.collect("visits", LINEAR, "value", np.repeat([0, 1, 2, 3], [2_000, 1_000, 500, 500])[:, None])
    for each, truth in zip(live.ask("visits", "linear"), (0.75, 0.5), strict=True):
        assert abs(each["value"] - truth) < 6 * each["stderr"]


def test_a_million_cells(live: Live) -> None:
    cells = np.random.default_rng(3).integers(0, 10, (4_000, 6))
    live.collect("million", MILLION, ",".join(f"axis{axis}" for axis in range(1, 7)), cells)
    (found,) = live.ask("million", "range", "2:7", "0:5", *["0:9"] * 4)
    truth = ((cells[:, 0] >= 2) & (cells[:, 0] <= 7) & (cells[:, 1] <= 5)).mean()
    assert 0 < found["stderr"] < 0.02, "it pays for the two axes that it cuts, not for six"
    assert abs(found["value"] - truth) < 6 * found["stderr"]
