"""Logs are JSON lines on stderr, in UTC."""

import json
import logging
from collections.abc import Iterator

import pytest

from hearsay.collector import logs


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


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
