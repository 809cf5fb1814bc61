"""What a guarantee protects and what it does not, value by value, in the domain's own labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

from hearsay.mechanisms.domains.cells import Cells

_NAMED = 12  # values of a list that are named; the rest is counted
LISTED = 8  # blocks or values that get a line of their own


@dataclass(frozen=True)
class Protection:
    """Sentences without a verb: what is protected, and what a report may show."""

    protected: list[str]
    not_protected: list[str]

    def table(self) -> dict[str, list[str]]:
        return {"protected": self.protected, "not_protected": self.not_protected}


def shortened(lines: list[str]) -> list[str]:
    """The first lines, and how many more there are."""
    return lines if len(lines) <= LISTED else [*lines[:LISTED], f"likewise {len(lines) - LISTED:,} more values"]


def factor(epsilon: float) -> str:
    """e^epsilon as a formula and as a number."""
    return f"e^{epsilon:g} = {exp(epsilon):.3g}"


def labels(domain: Cells, cells: Sequence[int]) -> str:
    """Cells by their labels, as an enumeration."""
    names = [_label(domain, cell) for cell in cells[:_NAMED]]
    if len(cells) > _NAMED:
        return f"{', '.join(names)}, ... ({len(cells):,} values)"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _label(domain: Cells, index: int) -> str:
    item, cell = domain.name(index)
    return _text(item) if cell is None else f"({', '.join(f'{axis} {_text(part)}' for axis, part in cell.items())})"


def _text(item: Any) -> str:
    return f"{item[0]:g}..{item[1]:g}" if isinstance(item, list) else str(item)
