"""Rows 7, 8 and 12 of an attacker's list: what stays behind, or is not protected, is said or removed."""

import time
from pathlib import Path

from hearsay.collector.describe.describe import describe
from hearsay.collector.store.connect import connect
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import Survey, parse
from hearsay.estimator.snapshots.content import compose
from hearsay.estimator.snapshots.files import publish, remove_survey
from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.server.embedded import EmbeddedServer
from tests.pipeline import singles

DOCS = Path(__file__).parents[2] / "docs"


def colours(**more: object) -> Survey:
    domain = {"kind": "categorical", "size": 4}
    return parse({"name": "colours", "mechanism": "grr", "epsilon": 1.0, "domain": domain, **more})


def test_row_7_survey_show_says_that_the_minimum_protects_no_report() -> None:
    """Row 7: two answers, at 60 and at 61 reports, give the last device's reported cell."""
    words = " ".join(describe(colours(answers={"minimum_reports": 60}))["advice"])
    assert "A report is protected by epsilon alone" in words
    assert "advice" not in describe(colours())
    assert "**a report is protected by\nepsilon alone**" in (DOCS / "explanation" / "guarantees.md").read_text()


def test_row_8_after_a_deletion_the_append_only_file_is_rewritten(tmp_path: Path) -> None:
    """Row 8: after `survey delete` the file still had the stream 87 times."""
    with EmbeddedServer(tmp_path / "redis") as server:
        registry = Registry(connect(server.url))
        store = registry.add(colours()).shards[0]
        for number in range(1, 20):
            store.publish("w", number, singles(store, range(3)), 3)
        assert past(server) > 0
        registry.delete("colours")
        assert past(server) > 0
        assert registry.rewrite_log()
        deadline = time.monotonic() + 20
        while past(server):
            assert time.monotonic() < deadline
            time.sleep(0.1)


def past(server: EmbeddedServer) -> int:
    """How often the files of the server name the survey."""
    files = [path for path in server.aof_directory.iterdir() if path.is_file()]
    return sum(path.read_bytes().count(b"colours") for path in files)


def test_row_8_a_folder_of_snapshots_that_is_a_link_is_emptied(tmp_path: Path) -> None:
    """Row 8: a survey's folder that is a symbolic link kept its snapshots."""
    survey = colours()
    mechanism = survey.mechanism
    state = mechanism.fold(mechanism.empty(), mechanism.perturb([0, 1, 2, 3], seeded(1)))
    root, elsewhere = tmp_path / "snapshots", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    (root / "colours").symlink_to(elsewhere)
    publish(root, compose(survey, "all", state), lambda: True)
    assert list(elsewhere.rglob("arrays.npz"))
    remove_survey(root, "colours")
    assert not list(elsewhere.rglob("*"))
    assert not (root / "colours").is_symlink()


def test_row_8_a_link_to_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("dear")
    (tmp_path / "colours").symlink_to(tmp_path / "mine")
    remove_survey(tmp_path, "colours")
    assert (tmp_path / "mine" / "letter").exists()


def test_row_12_flat_says_that_its_cells_do_not_sum_to_one() -> None:
    """Row 12: `range A LAST` was 0.0065 where `1 - prefix (A - 1)` was -0.034."""
    table = {"mechanism": "flat", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 16}}
    (words,) = build(table).advice()
    assert "range A LAST differs from 1 - prefix (A - 1)" in words
    assert "do not sum to exactly 1" in (DOCS / "explanation" / "ranges.md").read_text()
