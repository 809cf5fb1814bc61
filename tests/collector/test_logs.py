"""Logs are JSON lines on stderr, in UTC."""

import json
import logging

import pytest

from hearsay.collector import logs


def test_a_record_is_one_json_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("collector")
    logging.getLogger("some.module").warning("cut %d\nranges", 3, extra={"survey": "ages"})
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    record = json.loads(line)
    assert record["message"] == "cut 3\nranges"
    assert (record["level"], record["process"], record["logger"]) == ("warning", "collector", "some.module")
    assert record["survey"] == "ages"
    assert record["time"].endswith("+00:00")


def test_a_traceback_stays_on_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("worker")
    try:
        raise KeyError("lost")
    except KeyError:
        logging.getLogger().exception("failed")
    (line,) = capsys.readouterr().err.splitlines()
    assert "KeyError: 'lost'" in json.loads(line)["traceback"]


def test_the_level_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("worker", "error")
    logging.getLogger().warning("quiet")
    assert capsys.readouterr().err == ""


def test_a_flood_of_one_kind_is_cut_short_and_hides_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("estimator")
    for number in range(5_000):
        logging.getLogger("asyncio").error("socket.accept() out of system resource %d", number)
    logging.getLogger("asyncio").error("something else")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == logs.LINES + 1
    assert json.loads(lines[-1])["message"] == "something else"


def test_what_was_left_out_is_counted() -> None:
    now = [0.0]
    limit = logs.RateLimit(lines=2, within_s=10.0, clock=lambda: now[0])

    def let_through() -> int | None:
        record = logging.makeLogRecord({"name": "a", "msg": "again"})
        return getattr(record, "left_out", 0) if limit.filter(record) else None

    assert [let_through() for _ in range(7)] == [0, 0, None, None, None, None, None]
    now[0] = 10.0
    assert [let_through() for _ in range(3)] == [5, 0, None]


def test_a_loop_in_trouble_says_so_once_then_when_it_changes_and_each_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 0.0
    warnings = logs.RepeatedWarnings(logging.getLogger("loop"), lambda: now)
    for second in range(120):
        now = second / 2
        warnings.warning("no rights")
    assert len(caplog.messages) == 1
    now = 60.0
    warnings.warning("no rights")
    warnings.warning("away")
    warnings.clear()
    warnings.warning("away")
    assert caplog.messages == ["no rights", "no rights", "away", "away"]
