"""What the shared suite runs on: every example of every registered mechanism."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hearsay.mechanisms import Mechanism, build, catalogue
from hearsay.mechanisms.checks.people import skewed_people
from hearsay.mechanisms.domains.cells import Cells


@dataclass(frozen=True)
class Case:
    """One example of one mechanism."""

    name: str
    table: dict[str, Any]

    def build(self) -> Mechanism:
        """The mechanism, which nothing changes: made once, however many tests are about it."""
        return self._built

    @cached_property
    def _built(self) -> Mechanism:
        return build(self.table)


TELLS_NOTHING = {"um"}  # a blind guess has no answers to look at; tests/mechanisms/counts says what it does

ALL_CASES = [
    Case(f"{name}-{number}", {"mechanism": name, **example})
    for name in catalogue.shipped()
    if name not in TELLS_NOTHING
    for number, example in enumerate(catalogue.examples(name))
]
# Most laws are about shares of cells; families with domains of another kind have suites of their own.
CASES = [case for case in ALL_CASES if issubclass(catalogue.DOMAINS[case.table["domain"]["kind"]].load(), Cells)]
LISTED_CASES = ALL_CASES  # `skewed_cells` draws values of every kind of domain


skewed_cells = skewed_people
