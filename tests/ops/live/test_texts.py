"""Texts through server, collector, worker, query and snapshot, all of them real processes."""

import json
from collections.abc import Callable
from pathlib import Path

from hearsay.ops.server.processes import Pipeline
from hearsay.ops.server.waiting import wait_until_folded

SURVEY = """
name = "drinks"
mechanism = "prefixes"
epsilon = 4.0
[domain]
kind = "text"
length = 6
[options]
texts = 8
table = 4096
"""
PEOPLE = {"tea": 9_000, "café": 7_000, "mate": 2_000, "mulled wine": 2_000}


def test_frequent_texts_come_back(pipeline: Pipeline, run: Callable[..., str], tmp_path: Path) -> None:
    file, values = tmp_path / "drinks.toml", tmp_path / "values.csv"
    file.write_text(SURVEY)
    cells = [cell for text, count in PEOPLE.items() for cell in [f'"{text}"'] * count]
    values.write_text("\n".join(["value", *cells, ""]), encoding="utf-8")

    run("survey", "add", str(file))
    run("produce", "drinks", "--values", str(values), "--seed", "5", "--json")
    wait_until_folded(pipeline.registry().get("drinks"), len(cells))
    run("snapshot", "drinks", "--out", str(tmp_path / "out"))
    for source in (["drinks"], ["--snapshot", str(tmp_path / "out")]):
        told = json.loads(run("query", *source, "top", "9", "--json"))
        assert [each["item"] for each in told] == ["tea", "café", "mate"]
        for each in told:
            assert abs(each["value"] - PEOPLE[each["item"]] / len(cells)) <= 5 * each["stderr"]
        (outside,) = json.loads(run("query", *source, "outside", "--json"))
        assert abs(outside["value"] - 0.1) <= 5 * outside["stderr"]
    # What metrics show is the snapshot's headline: a number of texts, and no text.
    headline = json.loads((tmp_path / "out" / "snapshot.json").read_text())["answers"]
    assert [(each["query"], each.get("item")) for each in headline] == [("told", None), ("outside", None)]
    assert headline[0]["value"] == 3
