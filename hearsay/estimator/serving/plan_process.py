"""The process that plans, seen from the estimator: started for a question, kept for the next ones.

To start a process for each question slows a pass more than planning does. So the process stays until nobody has asked
for a minute, and a new one takes its place after 100 questions, because what it keeps in memory grows with them. A
question that takes too long, by the clock or in processor time, ends the process. It is paused while the estimator
makes a pass.
"""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Self

from hearsay.collector.http.problems import Problem
from hearsay.estimator.serving.pausing import Pauses
from hearsay.estimator.serving.plan_worker import OUT_OF_TIME
from hearsay.mechanisms import catalogue

REFUSED = 400  # the question is wrong; the process goes on
RETRY_S = 2.0
IDLE_S = 60.0
MOST_QUESTIONS = 100
_LONGEST_ANSWER = 1 << 24  # bytes
_WORKER = "hearsay.estimator.serving.plan_worker"
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_Question = tuple[Mapping[str, Any], asyncio.Future[dict[str, Any]]]


class PlanProcess:
    """Answers one question at a time: `answer` is asked again only when it has answered."""

    def __init__(self, longest_s: float, processor_s: float, pauses: Pauses) -> None:
        self._longest_s, self._processor_s, self._pauses = longest_s, processor_s, pauses
        self._questions: asyncio.Queue[_Question] | None = None
        self._task: asyncio.Task[None] | None = None  # an event loop that ends cancels it, which ends the process

    async def answer(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The plan. A problem if the question is wrong, takes too long, or the process fails."""
        if self._questions is None:
            self._questions = asyncio.Queue()
            self._task = asyncio.create_task(self._run(self._questions))
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._questions.put_nowait((parameters, answer))
        return await answer

    async def _run(self, questions: asyncio.Queue[_Question]) -> None:
        worker: _Worker | None = None
        try:
            for _ in range(MOST_QUESTIONS):
                parameters, answer = await asyncio.wait_for(questions.get(), IDLE_S)
                try:
                    if worker is None or worker.process.returncode is not None:
                        worker = await _Worker.start()
                    answer.set_result(await self._answered(worker, parameters))
                except Exception as error:  # the one who asked hears of it, where the process ended with it: afterwards
                    is_over = not isinstance(error, Problem) or error.status_code != REFUSED
                    if is_over:
                        self._questions = None
                        await _end(worker)
                    answer.set_exception(error)
                    if is_over:
                        return
        except TimeoutError:
            return
        finally:
            self._questions = None  # from here on a question starts another process
            await _end(worker)

    async def _answered(self, worker: "_Worker", parameters: Mapping[str, Any]) -> dict[str, Any]:
        plugins = ",".join(catalogue.outside())
        question = {"plugins": plugins, "processor_s": self._processor_s, "parameters": parameters}
        try:
            line = await asyncio.wait_for(worker.exchange(question, self._pauses), self._longest_s)
        except TimeoutError:
            raise _too_long(
                f"{self._longest_s:g} s; name one mechanism, or ask when the machine is less busy"
            ) from None
        if not line:
            if await worker.process.wait() == -OUT_OF_TIME:
                raise _too_long(f"{self._processor_s:g} s of processor time; name one mechanism")
            raise Problem(500, "internal", "the planning process failed; its log line has the details")
        result: dict[str, Any] = json.loads(line)
        if "answer" not in result:
            raise Problem(REFUSED, result["code"], result["error"])
        return dict(result["answer"])


@dataclass
class _Worker:
    """The process, and whether it may be paused: whether it ends when this one is killed. Its first line says so."""

    process: Process
    may_be_paused: bool | None = None

    @classmethod
    async def start(cls) -> Self:
        safe = ["-P"] if sys.flags.safe_path else []
        process = await asyncio.create_subprocess_exec(
            sys.executable, *safe, "-m", _WORKER,
            stdin=PIPE, stdout=PIPE, env={**os.environ, **_ONE_THREAD}, limit=_LONGEST_ANSWER,
        )  # fmt: skip
        return cls(process)

    async def exchange(self, question: Mapping[str, Any], pauses: Pauses) -> bytes:
        """The line that answers a question; empty where the process has ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        if self.may_be_paused is None:
            self.may_be_paused = json.loads(await self.process.stdout.readline() or "false")
        with pauses.of(self.process.pid) if self.may_be_paused else nullcontext():
            self.process.stdin.write(json.dumps(question).encode() + b"\n")
            return await self.process.stdout.readline()


async def _end(worker: _Worker | None) -> None:
    if worker is not None:
        assert worker.process.stdin is not None
        if worker.process.returncode is None:
            worker.process.kill()
        worker.process.stdin.close()
        await worker.process.communicate()  # closes the other pipe too


def _too_long(words: str) -> Problem:
    return Problem(503, "too-long", f"planning took over {words}", retry_after_s=RETRY_S)
