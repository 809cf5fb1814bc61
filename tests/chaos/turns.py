"""A survey of many short rounds in the storm: every report has a bucket of its own, and says which question it answers.

What a round makes public depends on every report before it. A device that heard another question than the worker
believes would show: the round was opened twice, with different questions.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import redis

from hearsay.collector.errors import ReportsLost, RoundClosed, ShardsAway
from hearsay.collector.store.registry import Registered
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import FIELD_FRAME
from hearsay.collector.writer import Writer
from hearsay.mechanisms.base import State, Values
from hearsay.mechanisms.exact.counting import count_into
from hearsay.mechanisms.exact.randomness import Random, seeded
from hearsay.mechanisms.layout import Layout, Reports, Scalar
from hearsay.mechanisms.oracles import CELLS
from hearsay.mechanisms.tables import Form
from tests.identity import Identity

MECHANISMS = {"many-rounds": (Form(CELLS, ":ManyRounds"),)}
QUESTIONS = 65_521  # a prime
NAME = "turns"


@dataclass(frozen=True)
class ManyRounds(Identity):
    """Reports the value itself, and the question that it was asked with."""

    ID = "many-rounds"
    question: int = 0

    @property
    def rounds(self) -> int:
        return 1_000

    def in_round(self, history: Sequence[Mapping[str, Any]]) -> Self:
        return replace(self, question=int(history[-1]["question"])) if history else self

    def next_round(self, state: State) -> dict[str, Any] | None:
        places = np.arange(1, self.domain.size + 1)
        return {"question": int((state["hist"] * places % QUESTIONS).sum() % QUESTIONS)}

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(Scalar("value", self.domain.size), Scalar("question", QUESTIONS))

    @property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"hist": (self.domain.size,), "misunderstood": (1,)}

    def perturb(self, values: Values, random: Random) -> Reports:
        cells = self.domain.flatten(values).astype(np.uint32)
        return {"value": cells, "question": np.full_like(cells, self.question)}

    def fold(self, state: State, reports: Reports) -> State:
        count_into(state["hist"], reports["value"])
        state["misunderstood"] += int((reports["question"] != self.question).sum())
        return state


class Crowd(threading.Thread):
    """Devices that answer whichever round is open, a few at a time, until there are no more."""

    def __init__(self, registered: Registered, devices: int, rate: float, frame: int = 20) -> None:
        super().__init__(daemon=True)
        self.registered, self.rate, self.frame = registered, rate, frame
        self.left = list(range(devices))
        self.asked: dict[int, list[list[int]]] = {}  # round: batches, in order
        self.refused: set[int] = set()  # too late for their round, and told so
        self.lost = 0  # entries that the server had taken, lost, and could not take again: told too
        self.enough, self.stop = threading.Event(), threading.Event()  # nobody more is asked; end at once
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            self._run()
        except BaseException as error:
            self.failure = error

    def _run(self) -> None:
        writer = Writer(self.registered.shards[0], stop=self.stop)
        while self.left and not self.enough.wait(self.frame / self.rate):
            try:
                held = self.registered.look().rounds
            except (redis.exceptions.RedisError, ShardsAway):
                continue
            if not held.open:
                continue
            values, self.left = self.left[: self.frame], self.left[self.frame :]
            mechanism = self.registered.survey.in_round(held.history(held.number)).mechanism
            entry = codec(mechanism).encode_frame(mechanism.perturb(np.array(values), seeded(1)))
            self.asked.setdefault(held.number, []).append(values)
            self._tell(writer.publish, [(FIELD_FRAME, entry)], len(values), held.number)
        self._tell(writer.check)

    def _tell(self, action: Callable[..., None], *words: object) -> None:
        """Remember what the writer says was not stored."""
        try:
            action(*words)
        except RoundClosed as late:
            for values in self.asked[late.number][-late.entries :]:
                self.refused |= set(values)
        except ReportsLost as error:
            self.lost += int(str(error).split(" lost ")[1].split()[0])


def survey_table(devices: int, reports: int) -> dict[str, object]:
    """A round ends after so many reports."""
    return {
        "name": NAME,
        "mechanism": ManyRounds.ID,
        "epsilon": 1.0,
        "domain": {"kind": "categorical", "size": devices},
        "rounds": {"reports": reports},
    }
