"""`GET /api/plan`: planning for viewers, in a process of its own, so that the estimator is never held up.

One question is planned at a time, for at most 20 s of processor time and 60 s by the clock: on a busy machine the
process, which has the lowest priority, waits more than it runs. Answers are kept by question. Whoever asks what is
being planned waits for it; whoever asks something else meanwhile is told to come back. A question that is wrong is
refused before, whatever is being planned.
"""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response

from hearsay.collector.describe.plan_document import question_of
from hearsay.collector.http.problems import Problem
from hearsay.errors import HearsayError
from hearsay.estimator.serving.pausing import Pauses
from hearsay.estimator.serving.plan_process import RETRY_S, PlanProcess

PROCESSOR_S = 20.0
LONGEST_S = 60.0  # by the clock
KEPT = 256  # answers, of at most some hundred kilobytes
_LONGEST_QUESTION = 4_096


class Planner:
    """Hands questions to the process, one at a time, and keeps the answers."""

    def __init__(
        self, longest_s: float = LONGEST_S, pauses: Pauses | None = None, processor_s: float = PROCESSOR_S
    ) -> None:
        self._process = PlanProcess(longest_s, processor_s, Pauses() if pauses is None else pauses)
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._running: tuple[str, asyncio.Task[bytes]] | None = None

    async def respond(self, request: Request) -> Response:
        """The answer to the address's parameters."""
        parameters: dict[str, list[str]] = {}
        for name, value in request.query_params.multi_items():
            parameters.setdefault(name, []).append(value)
        question = json.dumps({name: parameters[name] for name in sorted(parameters)})
        if len(question) > _LONGEST_QUESTION:
            raise Problem(400, "too-large", f"a question must have at most {_LONGEST_QUESTION} characters")
        answer = self._kept.get(question)
        if answer is None:
            _check(parameters)
            answer = await self._planned(question)
        else:
            self._kept.move_to_end(question)
        return Response(answer, media_type="application/json")

    async def _planned(self, question: str) -> bytes:
        if self._running is None:
            task = asyncio.create_task(self._run(question))
            self._running = (question, task)
        elif self._running[0] == question:
            task = self._running[1]
        else:
            raise Problem(503, "busy", "another question is being planned; ask again", retry_after_s=RETRY_S)
        return await asyncio.shield(task)  # a viewer who leaves does not take the answer from the others

    async def _run(self, question: str) -> bytes:
        try:
            answer = await self._asked(question)
        finally:
            self._running = None
        self._kept[question] = answer
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return answer

    async def _asked(self, question: str) -> bytes:
        return json.dumps(await self._process.answer(json.loads(question))).encode()


def _check(parameters: Mapping[str, Sequence[str]]) -> None:
    """Refuse at once what can be refused without planning."""
    try:
        question_of(parameters)
    except HearsayError as error:
        raise Problem(400, error.code, str(error)) from None
