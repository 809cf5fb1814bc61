"""A process that is paused while the estimator makes a pass: really, by its state in /proc."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hearsay.estimator.serving.pausing import Pauses

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system has no descriptors of processes")

PATIENT_S = 30.0
ESTIMATOR = """
import json, subprocess, sys, time
from hearsay.estimator.serving import pausing
pausing.AT_ONCE_S = 600
pauses = pausing.Pauses()
words = [sys.executable, "-m", "hearsay.estimator.serving.plan_worker"]
worker = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert worker.stdout.readline() == b"true\\n"
domain = {"kind": ["ordinal"], "size": ["1048576"], "query": ["quantile 0.5"]}
parameters = {**domain, "users": ["200000"], "within": ["0.02"]}  # takes many seconds
worker.stdin.write(json.dumps({"plugins": "", "processor_s": 60, "parameters": parameters}).encode() + b"\\n")
worker.stdin.flush()
with pauses.of(worker.pid):
    passing = pauses.during_pass()
    if sys.argv[1] == "T":
        passing.__enter__()
    print(worker.pid, flush=True)
    time.sleep(600)
"""


def state(pid: int) -> str:
    """One letter, T of a process that is stopped; nothing of one that has ended."""
    try:
        letter = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if letter in "ZX" else letter


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENT_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    return condition()


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        yield process
        process.kill()


def test_it_is_stopped_during_a_pass_and_goes_on_after_it(child: subprocess.Popen[bytes]) -> None:
    pauses = Pauses()
    with pauses.of(child.pid):
        time.sleep(1)  # what it ran it may be paused
        for _ in range(3):
            with pauses.during_pass():
                assert eventually(lambda: state(child.pid) == "T")
            assert eventually(lambda: state(child.pid) == "R")


def test_one_that_begins_during_a_pass_waits_for_its_end(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hearsay.estimator.serving.pausing.AT_ONCE_S", PATIENT_S)
    pauses = Pauses()
    with pauses.during_pass(), pauses.of(child.pid):
        assert eventually(lambda: state(child.pid) == "T")
    assert eventually(lambda: state(child.pid) == "R")


def test_it_goes_on_after_a_pass_that_fails(child: subprocess.Popen[bytes]) -> None:
    pauses = Pauses()
    with pauses.of(child.pid):
        time.sleep(1)
        with pytest.raises(OSError, match="disk"), pauses.during_pass():
            raise OSError("disk")
        assert eventually(lambda: state(child.pid) == "R")


def test_a_long_pass_pauses_it_no_longer_than_it_ran(child: subprocess.Popen[bytes]) -> None:
    pauses = Pauses()
    with pauses.of(child.pid), pauses.during_pass():
        assert eventually(lambda: state(child.pid) == "R")  # though the pass goes on


def test_passes_without_end_leave_it_half_of_the_time(child: subprocess.Popen[bytes]) -> None:
    pauses, stopped, looks = Pauses(), 0, 0
    with pauses.of(child.pid):
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            with pauses.during_pass():
                time.sleep(0.01)
                stopped += state(child.pid) == "T"
                looks += 1
    assert 0 < stopped < 0.7 * looks  # looked at the end of each pass, when a short pause is over already


def test_one_that_has_ended_is_left_alone(child: subprocess.Popen[bytes]) -> None:
    pauses = Pauses()
    with pauses.of(child.pid):
        child.kill()
        child.wait()
        with pauses.during_pass():
            pass


def test_a_system_without_descriptors_of_processes_pauses_nothing(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    pauses = Pauses()
    with pauses.of(child.pid), pauses.during_pass():
        time.sleep(0.05)
        assert state(child.pid) == "R"


@pytest.mark.parametrize("letter", ["R", "T"])
def test_a_killed_estimator_takes_the_process_along(letter: str) -> None:
    """While it plans, and while it is paused."""
    with subprocess.Popen([sys.executable, "-c", ESTIMATOR, letter], stdout=subprocess.PIPE) as estimator:
        assert estimator.stdout is not None
        try:
            pid = int(estimator.stdout.readline())
            assert eventually(lambda: state(pid) == letter)
        finally:
            estimator.send_signal(signal.SIGKILL)
        assert eventually(lambda: state(pid) == "")
