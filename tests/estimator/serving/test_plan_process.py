"""The process that plans: kept from question to question, and replaced by a new one."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hearsay.collector.http.problems import Problem
from hearsay.estimator.serving import plan_process
from hearsay.estimator.serving.pausing import Pauses
from hearsay.estimator.serving.plan_process import PlanProcess

QUESTION = {"kind": ["binary"], "query": ["point 1"], "users": ["1000"], "epsilon": ["1"], "mechanism": ["grr"]}
LONG = {"kind": ["ordinal"], "size": ["1048576"], "query": ["quantile 0.5"], "users": ["200000"], "within": ["0.02"]}
PATIENT_S = 120.0  # the process gives way to everything else, other tests too


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.subprocess.Process]:
    """The processes that were started."""
    processes: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def noted(*words: str, **more: Any) -> asyncio.subprocess.Process:
        processes.append(await start(*words, **more))
        return processes[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    return processes


async def ended(process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(PATIENT_S):
        await process.wait()


def run(steps: Callable[[PlanProcess], Awaitable[None]], longest_s: float = PATIENT_S, processor_s: float = 60) -> None:
    async def all_steps() -> None:
        await steps(PlanProcess(longest_s, processor_s, Pauses()))

    asyncio.run(all_steps())


def test_one_process_answers_question_after_question_and_ends_with_the_event_loop(
    started: list[asyncio.subprocess.Process],
) -> None:
    async def steps(process: PlanProcess) -> None:
        one = await process.answer(QUESTION)
        with pytest.raises(Problem, match="colour"):
            await process.answer({**QUESTION, "colour": ["red"]})
        other = await process.answer({**QUESTION, "users": ["2000"]})
        assert [document["rows"][0]["users"] for document in (one, other)] == [1000, 2000]

    run(steps)
    assert len(started) == 1
    assert started[0].returncode is not None


def test_processor_time_is_limited_question_by_question(started: list[asyncio.subprocess.Process]) -> None:
    async def steps(process: PlanProcess) -> None:
        for users in range(1_000, 1_004):
            await process.answer({**QUESTION, "users": [str(users)]})
        with pytest.raises(Problem, match="over 2 s of processor time"):
            await process.answer(LONG)
        await process.answer(QUESTION)

    run(steps, processor_s=2)
    assert len(started) == 2


def test_a_process_that_died_meanwhile_is_replaced(started: list[asyncio.subprocess.Process]) -> None:
    async def steps(process: PlanProcess) -> None:
        await process.answer(QUESTION)
        started[0].kill()
        await ended(started[0])
        await process.answer(QUESTION)

    run(steps)
    assert len(started) == 2


def test_a_process_ends_when_nobody_asks(
    started: list[asyncio.subprocess.Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_process, "IDLE_S", 0.05)

    async def steps(process: PlanProcess) -> None:
        await process.answer(QUESTION)
        await ended(started[0])
        await process.answer(QUESTION)

    run(steps)
    assert len(started) == 2


def test_a_process_ends_after_many_questions(
    started: list[asyncio.subprocess.Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_process, "MOST_QUESTIONS", 2)

    async def steps(process: PlanProcess) -> None:
        for _ in range(5):
            await process.answer(QUESTION)

    run(steps)
    assert len(started) == 3


def test_who_asked_hears_that_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_process.sys, "executable", "/no/such/program")

    async def steps(process: PlanProcess) -> None:
        for _ in range(2):
            with pytest.raises(FileNotFoundError):
                await process.answer(QUESTION)

    run(steps)
