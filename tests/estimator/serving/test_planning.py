"""`GET /api/plan`: in a process of its own, one question at a time, kept by question."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import tomllib
from itertools import pairwise
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from hearsay.collector.http.problems import handlers
from hearsay.collector.survey.survey import parse
from hearsay.estimator.serving import plan_process
from hearsay.estimator.serving.pausing import Pauses
from hearsay.estimator.serving.planning import Planner

QUESTION = {"kind": "binary", "query": "point 1", "users": "1000", "epsilon": "1", "mechanism": "grr", "shape": "zipf"}

PATIENT_S = 120.0  # the process gives way to everything else, other tests too


def ask(planner: Planner, *questions: dict[str, Any]) -> list[httpx.Response]:
    """All at once."""
    app = Starlette(routes=[Route("/api/plan", planner.respond)], exception_handlers=handlers())

    async def run() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return await asyncio.gather(*(client.get("/api/plan", params=question) for question in questions))

    return asyncio.run(run())


def test_an_answer_has_rows_curves_an_example_and_a_survey_to_copy() -> None:
    (response,) = ask(Planner(PATIENT_S), {**QUESTION, "curve": "grr", "sketch": "1"})
    assert response.status_code == 200, response.text
    document = response.json()
    (row,) = document["rows"]
    assert (row["mechanism"], row["users"], row["recommended"]) == ("grr", 1000, True)
    points = document["curves"]["grr"]
    assert len(points) == 17
    assert [point[0] for point in points] == pytest.approx([10 ** (step / 8 - 1) for step in range(17)])
    assert all(one[1] > other[1] for one, other in pairwise(points))
    assert points[8][1] == pytest.approx(row["within"], rel=1e-6)
    assert document["example"][0]["truth"] == pytest.approx(1 / 3, abs=0.05)
    assert parse(tomllib.loads(document["survey"])).mechanism.ID == "grr"


def test_answers_are_kept_and_the_same_question_is_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    planner, runs = Planner(PATIENT_S), []
    real = planner._asked

    async def counted(question: str) -> bytes:
        runs.append(json.loads(question))
        return await real(question)

    monkeypatch.setattr(planner, "_asked", counted)
    first, second = ask(planner, QUESTION, QUESTION)
    (third,) = ask(planner, dict(reversed(QUESTION.items())))
    assert first.content == second.content == third.content
    assert len(runs) == 1


def test_another_question_meanwhile_is_busy() -> None:
    first, second = ask(Planner(PATIENT_S), QUESTION, {**QUESTION, "users": "2000"})
    assert first.status_code == 200
    assert (second.status_code, second.json()["code"], second.headers["retry-after"]) == (503, "busy", "2")


@pytest.mark.parametrize(
    ("change", "words"),
    [({"kind": "ordnal"}, "kind must be one of"), ({"epsilon": "-1"}, "epsilon must be"), ({"users": "few"}, "users")],
)
def test_a_bad_question_is_refused_while_another_is_planned(change: dict[str, str], words: str) -> None:
    first, second = ask(Planner(PATIENT_S), QUESTION, {**QUESTION, **change})
    assert first.status_code == 200
    assert second.status_code == 400
    assert words in second.json()["error"]


def test_what_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_process, "RETRY_S", 3.0)
    (response,) = ask(Planner(longest_s=0.01), QUESTION)
    assert (response.status_code, response.json()["code"], response.headers["retry-after"]) == (503, "too-long", "3")
    assert "over 0.01 s; name one mechanism, or ask when the machine is less busy" in response.json()["error"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system does not count a process' time")
def test_processor_time_is_limited_apart_from_the_clock() -> None:
    (response,) = ask(Planner(PATIENT_S, processor_s=0.02), QUESTION)
    assert (response.status_code, response.json()["code"]) == (503, "too-long")
    assert response.json()["error"].endswith("over 0.02 s of processor time; name one mechanism")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"query": "range 1 2"}, "has no answer on a domain of kind binary"),
        ({"users": "many"}, "users must be a whole number, got 'many'"),
        ({"colour": "red"}, "parameter must be one of kind, size"),
    ],
)
def test_a_bad_question_is_a_problem_document(change: dict[str, str], words: str) -> None:
    (response,) = ask(Planner(PATIENT_S), {**QUESTION, **change})
    assert response.status_code == 400
    assert words in response.json()["error"]
    assert response.headers["content-type"] == "application/problem+json"


def test_a_plan_that_is_under_way_ends_with_the_estimator(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[asyncio.subprocess.Process] = []

    async def noted(*words: str, **more: Any) -> asyncio.subprocess.Process:
        started.append(await asyncio.create_subprocess_exec(*words, **more))
        return started[0]

    class Noting:
        def __getattr__(self, name: str) -> Any:
            return noted if name == "create_subprocess_exec" else getattr(asyncio, name)

    monkeypatch.setattr(plan_process, "asyncio", Noting())
    planner = Planner(PATIENT_S)

    async def stopped_meanwhile() -> None:
        asking = asyncio.create_task(planner._planned(json.dumps({name: [value] for name, value in QUESTION.items()})))
        while not started:
            await asyncio.sleep(0.01)
        asking.cancel()

    asyncio.run(stopped_meanwhile())
    assert started[0].returncode is not None


def test_the_process_has_the_lowest_priority_whatever_that_of_the_estimator() -> None:
    words = ["nice", "-n", "5", sys.executable, "-m", "hearsay.estimator.serving.plan_worker"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        assert os.getpriority(os.PRIO_PROCESS, worker.pid) == 19
        worker.kill()


def test_a_process_that_fails_before_its_first_line_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_process, "_WORKER", "hearsay.estimator.serving.no_such_module")
    (response,) = ask(Planner(PATIENT_S), QUESTION)
    assert (response.status_code, response.json()["code"]) == (500, "internal")


def test_a_plan_is_answered_beside_passes_that_never_stop() -> None:
    pauses, stop = Pauses(), threading.Event()

    def passes() -> None:
        while not stop.is_set():
            with pauses.during_pass():
                stop.wait(0.05)

    passing = threading.Thread(target=passes)
    passing.start()
    try:
        (response,) = ask(Planner(PATIENT_S, pauses), QUESTION)
    finally:
        stop.set()
        passing.join()
    assert response.status_code == 200, response.text
