"""Counts through server, collector, worker, query and snapshot, all of them real processes."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hearsay.ops.demo.scene import SURVEYS
from hearsay.ops.server.processes import Pipeline
from hearsay.ops.server.waiting import wait_until_folded

SOLVED = """
name = "children"
mechanism = "wm"
epsilon = 0.9
[domain]
kind = "count"
max = 6
"""
PEOPLE = 20_000


@pytest.mark.parametrize("how", [["--frame", "1000"], ["--single"]], ids=["frames", "singles"])
@pytest.mark.parametrize("name", ["doctor-visits", "children"])
def test_counts_come_back_as_a_distribution(
    name: str, how: list[str], pipeline: Pipeline, run: Callable[..., str], tmp_path: Path
) -> None:
    file = SURVEYS / f"{name}.toml"
    if name == "children":
        file = tmp_path / "children.toml"
        file.write_text(SOLVED)
    largest = 12 if name == "doctor-visits" else 6
    people = np.random.default_rng(5).binomial(largest, 0.2, PEOPLE)
    values = tmp_path / "values.csv"
    values.write_text("value\n" + "\n".join(map(str, people)) + "\n")

    run("survey", "add", str(file))
    run("survey", "add", str(file))  # the same file again, solved again, is the same survey
    run("produce", name, "--values", str(values), "--seed", "5", "--json", *how)
    wait_until_folded(pipeline.registry().get(name), PEOPLE)
    run("snapshot", name, "--out", str(tmp_path / "out"))

    shares = np.bincount(people, minlength=largest + 1) / PEOPLE
    truths = {
        "mean": people.mean(),
        "point 2": shares[2],
        "range 1 3": shares[1:4].sum(),
        "prefix 4": shares[:5].sum(),
        "quantile 0.5": np.quantile(people, 0.5),
    }
    for source in ([name], ["--snapshot", str(tmp_path / "out")]):
        for query, truth in truths.items():
            (found,) = json.loads(run("query", *source, *query.split(), "--json"))
            assert abs(found["value"] - truth) <= 5 * found["stderr"] + 1e-9, query
            assert found["low"] <= found["value"] <= found["high"]
        frequencies = json.loads(run("query", *source, "frequencies", "--json"))
        assert [each["item"] for each in frequencies] == list(range(largest + 1))
    headline = json.loads((tmp_path / "out" / "snapshot.json").read_text())["answers"]
    assert headline[0]["query"] == "mean"
    run("survey", "delete", name, "--yes")
