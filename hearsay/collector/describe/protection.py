"""What a survey protects and what it does not, value by value, where that differs between values."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, isinf
from typing import Any

from hearsay.mechanisms import Mechanism
from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.guarantees.promises import BlockStructured, EMatrix, HighLow

_NAMED = 12  # values of a list that are named; the rest is counted
_LISTED = 8  # blocks or values that get a line of their own


@dataclass(frozen=True)
class Protection:
    """Sentences without a verb: what is protected, and what a report may show."""

    protected: list[str]
    not_protected: list[str]

    def table(self) -> dict[str, list[str]]:
        return {"protected": self.protected, "not_protected": self.not_protected}


def protection(mechanism: Mechanism) -> Protection | None:
    """In the domain's own labels; None where every pair of values is promised the same, or by its distance."""
    guarantee, domain = mechanism.guarantee, mechanism.domain
    if not isinstance(domain, Cells):
        return None
    if isinstance(guarantee, HighLow):
        return _high_low(guarantee, domain)
    if isinstance(guarantee, BlockStructured):
        return _blocks(guarantee, domain)
    if isinstance(guarantee, EMatrix):
        return _matrix(guarantee, domain)
    return None


def _high_low(guarantee: HighLow, domain: Cells) -> Protection:
    others = sorted(set(range(domain.size)) - set(guarantee.sensitive))
    return Protection(
        [
            f"holding {_names(domain, guarantee.sensitive)}: no report is more than {_factor(guarantee.epsilon)} "
            "times likelier under such a value than under any other value"
        ],
        [
            f"holding {_names(domain, others)}: a report may show which of them a device holds, "
            "and so that it holds no sensitive value"
        ]
        if others
        else [],
    )


def _blocks(guarantee: BlockStructured, domain: Cells) -> Protection:
    several = [block for block in guarantee.blocks if len(block) > 1]
    alone = [block[0] for block in guarantee.blocks if len(block) == 1]
    hidden = [f"which of {_names(domain, block)} a device holds" for block in several[:_LISTED]]
    if len(several) > _LISTED:
        hidden.append(f"likewise within the other {len(several) - _LISTED:,} blocks")
    if hidden:
        hidden[0] += f": any two of them explain a report within a factor of {_factor(guarantee.epsilon)}"
    shown = [f"which of the {len(guarantee.blocks):,} blocks a device's value is in: every report shows it"]
    if alone:
        shown.append(f"holding {_names(domain, alone)}: alone in its block, so every report shows it")
    return Protection(hidden, shown)


def _matrix(guarantee: EMatrix, domain: Cells) -> Protection:
    """A row without infinity bounds how much likelier a report may be under its value than under any other one."""
    hidden, shown = [], []
    for value, row in enumerate(guarantee.rows):
        name = _names(domain, [value])
        open_to = [other for other, bound in enumerate(row) if isinf(bound)]
        if open_to:
            shown.append(f"holding {name} rather than {_names(domain, open_to)}: a report may show it")
        else:
            hidden.append(
                f"holding {name}: no report is more than {_factor(max(row))} times likelier than under any other value"
            )
    return Protection(_cut(hidden), _cut(shown))


def _cut(lines: list[str]) -> list[str]:
    return lines if len(lines) <= _LISTED else [*lines[:_LISTED], f"likewise {len(lines) - _LISTED:,} more values"]


def _factor(epsilon: float) -> str:
    return f"e^{epsilon:g} = {exp(epsilon):.3g}"


def _names(domain: Cells, cells: Sequence[int]) -> str:
    names = [_name(domain, cell) for cell in cells[:_NAMED]]
    if len(cells) > _NAMED:
        return f"{', '.join(names)}, ... ({len(cells):,} values)"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _name(domain: Cells, index: int) -> str:
    item, cell = domain.name(index)
    return _text(item) if cell is None else f"({', '.join(f'{axis} {_text(part)}' for axis, part in cell.items())})"


def _text(item: Any) -> str:
    return f"{item[0]:g}..{item[1]:g}" if isinstance(item, list) else str(item)
