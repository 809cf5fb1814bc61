"""Rows that cannot be read: how many for each cause, and where the first of them are. Never what they hold."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hearsay.errors import Fields
from hearsay.producer.errors import ValuesError

SKIP_OPTION = "--skip-bad"
_SHOWN = 3  # rows of a cause


@dataclass(frozen=True)
class Cause:
    """Why rows are bad. `alone` follows the place of a single row, `many` a number of rows; `hint` may help.

    `mostly` is said where it is so of most rows of the file.

    `fields` are those of the error where there is no other cause.
    """

    alone: str
    many: str
    hint: str = ""
    mostly: str = ""
    fields: Fields = field(default_factory=Fields)


@dataclass
class _Met:
    cause: Cause
    count: int
    first: list[int]


class BadRows:
    """The bad rows of a file by cause. Its rows are called by `unit`: lines of a text, rows of a table."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._met: dict[str, _Met] = {}

    @property
    def count(self) -> int:
        return sum(met.count for met in self._met.values())

    def add(self, cause: Cause, numbers: Sequence[int]) -> None:
        """Rows with these numbers, in their order."""
        met = self._met.setdefault(cause.many, _Met(cause, 0, []))
        met.count += len(numbers)
        met.first += numbers[: _SHOWN - len(met.first)]

    def refusal(self, file: str, rows: int) -> ValuesError:
        """What is wrong with a file of so many rows, in one line. Where all are bad, leaving them out does not help."""
        hints = "".join(dict.fromkeys(met.cause.hint for met in self._met.values()))
        hints += "".join(dict.fromkeys(met.cause.mostly for met in self._met.values() if 2 * met.count > rows > 1))
        all_bad = rows > 1 and self.count == rows
        hints += "; is it the right column?" if all_bad else f"; {SKIP_OPTION} leaves bad rows out"
        first, *others = self._met.values()
        fields = Fields() if others else first.cause.fields
        if self.count == 1:
            return ValuesError(f"{file}: {self._unit} {first.first[0]}{first.cause.alone}{hints}", **fields)
        causes = self.causes()
        return ValuesError(f"{file}: {self.count:,} of {rows:,} rows are bad: {causes}{hints}", **fields)

    def causes(self) -> str:
        """How many rows are bad for each cause, and where the first of them are."""
        return "; ".join(self._words(met) for met in self._met.values())

    def _words(self, met: _Met) -> str:
        numbers = ", ".join(f"{number:,}" for number in met.first) + (", ..." if met.count > len(met.first) else "")
        unit = self._unit if met.count == 1 else f"{self._unit}s"
        return f"{met.count:,} {met.cause.many} ({unit} {numbers})"
