"""Bit vectors, sensitive values and blocks through server, collector, worker and query, all of them real processes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hearsay.collector.survey.survey import load
from hearsay.ops.demo.scene import SURVEYS
from hearsay.ops.server.processes import Pipeline
from hearsay.ops.server.waiting import wait_until_folded

BIT_VECTORS = """
name = "drinks"
mechanism = "oue"
epsilon = 1.5
[domain]
kind = "categorical"
categories = ["tea", "coffee", "water", "milk", "juice"]
"""
CHOSEN = """
name = "letters"
mechanism = "auto"
epsilon = 1.5
[domain]
kind = "categorical"
categories = ["a", "b", "c"]
[answers]
postprocess = "norm-sub"
"""
DEVICES = 30_000


def survey_file(folder: Path, name: str) -> Path:
    written = {"drinks": BIT_VECTORS, "letters": CHOSEN}
    if name not in written:
        return SURVEYS / f"{name}.toml"
    path = folder / f"{name}.toml"
    path.write_text(written[name])
    return path


@pytest.mark.parametrize("name", ["drinks", "health-condition", "home-town", "letters"])
@pytest.mark.parametrize("how", [["--frame", "1000"], ["--single"]], ids=["frames", "singles"])
def test_labels_come_back_as_shares(
    name: str, how: list[str], pipeline: Pipeline, run: Callable[..., str], tmp_path: Path
) -> None:
    file = survey_file(tmp_path, name)
    survey = load(file)
    labels = survey.mechanism.domain.axes[0].labels
    assert labels is not None
    weights = range(1, len(labels) + 1)  # the further on, the more frequent
    column = [label for label, weight in zip(labels, weights, strict=True) for _ in range(weight)]
    devices = DEVICES // len(column) * len(column)
    values = tmp_path / "values.csv"
    values.write_text("value\n" + "\n".join(column * (DEVICES // len(column))) + "\n")

    added = run("survey", "add", str(file))
    assert ("chosen automatically" in added) == (name == "letters")
    if name == "letters":
        assert json.loads(run("survey", "show", name, "--json"))["reason"] in added
    run("produce", name, "--values", str(values), "--seed", "5", "--json", *how)
    wait_until_folded(pipeline.registry().get(name), devices)

    found = json.loads(run("query", name, "frequencies", "--json", "--simultaneous"))
    assert [each["item"] for each in found] == list(labels)
    for each, weight in zip(found, weights, strict=True):
        raw = each.get("raw", each["value"])
        assert abs(raw - weight / len(column)) <= 6 * each["stderr"] + 1e-9
        assert each.get("postprocess", "none") == survey.postprocess
        assert each["simultaneous"][0] <= each["low"]
    if survey.postprocess != "none":
        assert sum(each["value"] for each in found) == pytest.approx(1.0)
        assert survey.postprocess in run("query", name, "top", "2")
    run("survey", "delete", name, "--yes")
