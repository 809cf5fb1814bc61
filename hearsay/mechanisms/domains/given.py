"""Values as programs have them in hand: one per device, columns by name, or a frame of pandas, polars or arrow."""

from collections.abc import Mapping, Sequence
from typing import Any

from hearsay.mechanisms.domains.domain import Domain, Values
from hearsay.mechanisms.errors import ValueOutsideDomain


def values_of(domain: Domain, given: Any) -> Values:
    """The values in `given`, checked against the domain; a bad one is named by its row and column."""
    columns = _columns_of_frame(given, domain.columns)
    if columns is not None:
        return _read(domain, columns)
    if isinstance(given, Mapping):
        return _read(domain, given)
    if len(domain.columns) == 1:
        (name,) = domain.columns
        return _read(domain, {name: _listed(given, name) if _is_series(given) else given})
    joined: Values = domain.join([domain.one(value) for value in given])
    return joined


def _read(domain: Domain, columns: Mapping[str, Any]) -> Values:
    try:
        return domain.read(columns)
    except ValueOutsideDomain as error:
        if error.position is None or error.column is None:
            raise
        where = f"row {error.position} of column {error.column!r}"
        raise ValueOutsideDomain(f"{where}: {error}", error.positions, error.column) from None


def _is_series(given: Any) -> bool:
    """Whether it is a column of a frame, whose empty cells are to be named."""
    return any(hasattr(given, method) for method in ("to_pylist", "to_list"))


def _columns_of_frame(given: Any, needed: Sequence[str]) -> dict[str, list[Any]] | None:
    """The needed columns of a frame as lists; None where it is no frame."""
    if isinstance(given, Mapping):
        return None
    names = getattr(given, "column_names", None)  # arrow
    names = getattr(given, "columns", None) if names is None else names  # pandas, polars
    if names is None or not hasattr(given, "__getitem__"):
        return None
    present = [str(name) for name in names]
    for name in needed:
        if present.count(name) != 1:
            advice = (
                "Give the column itself, frame['NAME'], or rename it." if len(needed) == 1 else "Rename the column."
            )
            raise ValueOutsideDomain(
                f"the frame has no column {name!r}; it has {', '.join(present[:8])}. {advice}"
                if name not in present
                else f"the frame must have one column {name!r}, got {present.count(name)}"
            )
    return {name: _listed(given[name], name) for name in needed}


def _listed(column: Any, name: str) -> list[Any]:
    """A column as a list of plain values; an empty cell is refused with its row, counted from 0."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            values: list[Any] = getattr(column, method)()
            break
    else:
        values = list(column)
    for row, value in enumerate(values):
        if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):  # NaN is not itself
            raise ValueOutsideDomain(f"row {row} of column {name!r} is empty; fill or drop it", row, name)
    return values
