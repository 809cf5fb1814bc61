"""Mechanisms whose report is one integer, and whose state is how often each was reported."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from hearsay.mechanisms.base import CellMechanism, State
from hearsay.mechanisms.exact.counting import count_into
from hearsay.mechanisms.layout import Layout, Reports, Scalar


@dataclass(frozen=True)
class OutputHistogram(CellMechanism):
    """What the worker does with such reports."""

    OUTPUT: ClassVar[str] = "output"  # what the integer is called

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many different reports there are."""

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(Scalar(self.OUTPUT, self.outputs))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"hist": (self.outputs,)}

    def fold(self, state: State, reports: Reports) -> State:
        count_into(state["hist"], reports[self.OUTPUT])
        return state

    def reports(self, state: State) -> int:
        return int(state["hist"].sum())
