"""`hearsay produce` as a load test, on a pipeline of its own: a frozen server shows, rates that are not held fail."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hearsay.collector.heartbeats import roles
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.ops import cli
from hearsay.ops.load import run
from hearsay.ops.load.verdict import Evidence
from hearsay.ops.server.processes import Pipeline

AGES = {"name": "ages", "mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 64}}
FROZEN_S = 3.0
Produce = Callable[..., tuple[int, dict[str, Any], str]]


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    with Pipeline(tmp_path_factory.mktemp("load"), estimator=True) as pipeline:
        pipeline.registry().add(parse(AGES), shards=2)
        yield pipeline


@pytest.fixture
def produce(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Produce:
    monkeypatch.setenv("HEARSAY_DATA_DIR", str(pipeline.directory))
    monkeypatch.setenv("HEARSAY_REDIS_PORT", str(pipeline.settings.redis_port))

    def call(*words: str, survey: str = "ages") -> tuple[int, dict[str, Any], str]:
        code = cli.run(["produce", survey, "--json", *words])
        seen = capsys.readouterr()
        return code, json.loads(seen.out) if seen.out else {}, seen.err

    return call


def test_a_rate_that_is_held(pipeline: Pipeline, produce: Produce, tmp_path: Path) -> None:
    before = pipeline.registry().get("ages").look().published_reports
    code, told, _ = produce("--devices", "1e4", "--rate", "5e3", "--processes", "2", "--p99", "5",
                            "--report", str(tmp_path))  # fmt: skip
    assert code == 0
    assert told["reports"] == pipeline.registry().get("ages").look().published_reports - before == 10_000
    assert (told["asked_per_s"], told["held"], told["limit"]) == (5_000.0, True, None)
    assert told["others"] == 0
    assert set(told["latency_s"]) == {"p50", "p90", "p99", "p999", "max"}
    assert told["latency_s"]["p50"] <= told["commit_s"]["p50"] <= told["snapshot_s"]["p50"] <= told["snapshot_s"]["max"]
    assert told["fresh_s"] == told["snapshot_s"]["p99"]
    assert (tmp_path / "report.png").stat().st_size > 10_000
    assert "| 5,000 |" in (tmp_path / "report.md").read_text()
    assert json.loads((tmp_path / "report.json").read_text())[0]["held"] is True


@pytest.mark.parametrize("name", ["afile", "afile/below", "locked/below"])
def test_a_report_that_cannot_be_written_is_refused_before_the_test(
    pipeline: Pipeline, produce: Produce, tmp_path: Path, name: str
) -> None:
    (tmp_path / "afile").touch()
    (tmp_path / "locked").symlink_to("/proc")
    before = pipeline.registry().get("ages").look().published_reports
    code, told, err = produce("--ramp", "--report", str(tmp_path / name))
    assert (code, told) == (2, {})
    assert f"--report {tmp_path / name}: " in err
    assert "name a folder that can be written to" in err
    assert pipeline.registry().get("ages").look().published_reports == before


def test_a_refused_report_leaves_no_note_of_rows_that_were_sent(
    pipeline: Pipeline, produce: Produce, tmp_path: Path
) -> None:
    pipeline.registry().add(parse({**AGES, "name": "rows"}))
    (tmp_path / "afile").touch()
    values = tmp_path / "values.csv"
    values.write_text("value\n" + "7\n" * 50)
    assert produce("--values", str(values), "--report", str(tmp_path / "afile"), survey="rows")[0] == 2
    code, told, err = produce("--devices", "10", survey="rows")
    assert (code, told["reports"]) == (0, 10), err


def test_workers_that_come_during_a_test_are_counted(
    pipeline: Pipeline, produce: Produce, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_last, seen = roles(pipeline.registry()), list[Evidence]()
    counts = iter([dict.fromkeys(at_last, 0), at_last])
    monkeypatch.setattr(run, "roles", lambda _: next(counts))
    monkeypatch.setattr(run, "limit_of", seen.append)
    assert produce("--devices", "1e3", "--rate", "5e3")[0] == 0
    assert seen[0].workers == at_last["worker"] > 0
    assert seen[0].stale_s is not None  # the estimator was counted too


def test_an_estimator_that_hangs_leaves_no_times_to_a_snapshot(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], produce: Produce
) -> None:
    monkeypatch.setattr(run, "VISIBLE_S", 2.0)
    os.kill(pipeline.pid("estimate"), signal.SIGSTOP)
    try:
        _, told, _ = produce("--devices", "2e4", "--rate", "5e3")
        assert cli.run(["produce", "ages", "--devices", "1e3", "--rate", "5e3"]) == 0
    finally:
        os.kill(pipeline.pid("estimate"), signal.SIGCONT)
    assert (told["snapshot_s"], told["fresh_s"], told["not_in_snapshot"]) == (None, None, 20_000)
    assert told["not_committed"] == 0
    assert told["commit_s"] is not None
    assert "  not in a snapshot   1,000 of 1,000 reports at the test's end" in capsys.readouterr().out


def test_a_freeze_of_the_server_shows(pipeline: Pipeline, produce: Produce) -> None:
    server = pipeline.server.pid
    assert server is not None

    def freeze() -> None:
        time.sleep(2.0)
        os.kill(server, signal.SIGSTOP)
        time.sleep(FROZEN_S)
        os.kill(server, signal.SIGCONT)

    freezing = threading.Thread(target=freeze)
    freezing.start()
    code, told, err = produce("--devices", "4e4", "--rate", "5e3", "--replay", "--p99", "1")
    freezing.join()
    assert code == 1
    assert "99% were acknowledged within" in err or "the rate was not held" in err
    assert told["latency_s"]["p99"] > 0.8 * FROZEN_S
    assert told["latency_s"]["max"] > 0.95 * FROZEN_S
    assert told["latency_s"]["p50"] < 1.0
    assert sum(told["waits"].values()) > 0.8 * FROZEN_S


def test_other_writers_are_named_and_their_commits_are_not_counted(pipeline: Pipeline, produce: Produce) -> None:
    """On a survey of its own: it has real reports afterwards, which the other tests' simulated ones must not join."""
    shared = pipeline.registry().add(parse(AGES | {"name": "shared"}))

    def publish_beside() -> None:
        while not shared.look().published_reports:
            time.sleep(0.02)
        Writer(shared.shards[0]).publish([(b"r", b"x")] * 300, 300)

    other = threading.Thread(target=publish_beside)
    other.start()
    code, told, _ = produce("--devices", "1e4", "--rate", "5e3", survey="shared")
    other.join()
    assert code == 0
    assert (told["reports"], told["others"], told["commit_s"], told["snapshot_s"]) == (10_000, 300, None, None)


def test_a_rate_beyond_the_producers_is_not_held(produce: Produce) -> None:
    code, told, err = produce("--devices", "5e7", "--rate", "1e8", "--p99", "5")
    assert code == 1
    assert told["held"] is False
    assert told["limit"] == "producers"
    assert "limit producers" in err


@pytest.mark.parametrize("after_s", [0.5, 1.5])
@pytest.mark.parametrize("words", [("--devices", "1e8", "--rate", "1e8"), ("--ramp",)])
def test_a_test_that_is_stopped_names_no_limit(produce: Produce, words: tuple[str, ...], after_s: float) -> None:
    """One that asks for more than the producers make, and a ramp in its first burst."""
    before = signal.getsignal(signal.SIGTERM)

    def stop() -> None:
        while signal.getsignal(signal.SIGTERM) is before:
            time.sleep(0.01)
        time.sleep(after_s)
        os.kill(os.getpid(), signal.SIGTERM)

    stopping = threading.Thread(target=stop)
    stopping.start()
    code, told, err = produce(*words, "--p99", "5")
    stopping.join()
    assert code == 1
    assert "the load test was stopped before the end: nothing can be said of its rate" in err
    steps = told.get("steps", [told])
    assert [(step["stopped"], step["held"], step["limit"], step["why"]) for step in steps] == [(True, None, None, None)]
    assert told.get("limit") is None


def test_a_short_test_says_so(produce: Produce) -> None:
    code, seen, err = produce("--devices", "1000", "--rate", "5e3", "--p99", "5")
    assert (code, seen["held"]) == (1, None)
    assert "too short to judge the rate; use --devices 10000 or more" in err


@pytest.mark.parametrize(
    "words", [("--via", "http://127.0.0.1:1", "--replay"), ("--values", "-", "--rate", "10"), ("--ramp",)]
)
def test_what_does_not_go_together(produce: Produce, words: tuple[str, ...]) -> None:
    code, _, err = produce("--devices", "10", *words)
    assert code == 2
    assert len(err.splitlines()) == 1


def test_producing_processes_end_without_a_traceback_where_what_started_them_is_killed(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    pipeline.registry().add(parse({**AGES, "name": "orphans"}))
    environment = {**os.environ, "HEARSAY_DATA_DIR": str(pipeline.directory), "HEARSAY_REDIS_URL": pipeline.server.url}
    words = ["produce", "orphans", "--devices", "1e8", "--rate", "1e4", "--processes", "2"]
    with (tmp_path / "log").open("w+") as log:
        parent = subprocess.Popen([sys.executable, "-P", "-m", "hearsay", *words], env=environment, stderr=log)
        orphans = pipeline.registry().get("orphans")
        while not orphans.look().published_reports:
            time.sleep(0.05)
        parent.kill()
        parent.wait()
        before = -1
        while before < (before := orphans.look().published_reports):
            time.sleep(0.5)
        log.seek(0)
        assert "Traceback" not in log.read()
