"""How results show themselves in notebooks and terminals: lists that are also tables and frames."""

from collections.abc import Iterable, Mapping
from html import escape
from importlib import import_module
from typing import Any, Protocol, SupportsIndex, TypeVar, overload

from hearsay.errors import HearsayError

_SHOWN = 20  # rows of a table in a notebook or a terminal
_ENDS = ("from", "to")  # the columns of a bin
_SIDES = {"of": ("a", "b")}  # those of the two values of a difference


class MissingLibrary(HearsayError, ImportError):
    """What was asked for needs a library that is not installed; the line says which."""

    CODE = "missing-library"


class HasTable(Protocol):
    """What a row is made of."""

    def table(self) -> dict[str, Any]:
        """Its fields by name."""


Row = TypeVar("Row", bound=HasTable)


class Rows(list[Row]):
    """A list that shows itself as a table and becomes a frame."""

    @overload
    def __getitem__(self, index: SupportsIndex) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Row | list[Row]:
        return type(self)(super().__getitem__(index)) if isinstance(index, slice) else super().__getitem__(index)

    def columns(self) -> dict[str, list[Any]]:
        """By name: the ends of a bin are two columns, a cell is one column for each attribute; unknown is None."""
        rows = [flat(each.table()) for each in self]
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: [row.get(name) for row in rows] for name in names}

    def to_pandas(self) -> Any:
        """A pandas DataFrame."""
        return imported("pandas").DataFrame(self.columns())

    def to_polars(self) -> Any:
        """A polars DataFrame."""
        return imported("polars").DataFrame(self.columns(), strict=False)

    def to_arrow(self) -> Any:
        """A pyarrow Table."""
        return imported("pyarrow").table(self.columns())

    def __repr__(self) -> str:
        names, rows = self._texts()
        widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
                 for row in (names, *rows)]  # fmt: skip
        return "\n".join([*lines, *self._more()]) if self else "nothing"

    def _repr_html_(self) -> str:
        names, rows = self._texts()
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows)
        more = "".join(f"<p>{line}</p>" for line in self._more())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def _texts(self) -> tuple[list[str], list[list[str]]]:
        columns = Rows(self[:_SHOWN]).columns()
        return list(columns), [[text_of(value) for value in row] for row in zip(*columns.values(), strict=True)]

    def _more(self) -> list[str]:
        return [f"... and {len(self) - _SHOWN:,} more"] if len(self) > _SHOWN else []


def flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table as one row: the ends of a bin or band are two columns, a cell is one column for each attribute."""
    row: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            row |= flat(value)
        else:
            row |= _named(name, value)
    return row


def _named(name: str, value: Any) -> dict[str, Any]:
    """A value under its name; the two ends of a bin or band under two."""
    if isinstance(value, list | tuple) and len(value) == len(_ENDS):
        return {f"{name}_{end}": part for end, part in zip(_SIDES.get(name, _ENDS), value, strict=True)}
    return {name: value}


def text_of(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def imported(library: str, extra: str | None = None) -> Any:
    try:
        return import_module(library)
    except ImportError:
        package = library if extra is None else f"'hearsay-ldp[{extra}]'"
        raise MissingLibrary(f"this needs {library}: pip install {package}", what=library) from None


def ten_lines(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """How objects of this package show themselves: a title, and at most nine named lines below it."""
    listed = list(rows)[:9]
    width = max((len(name) for name, _ in listed), default=0)
    return "\n".join([title, *(f"  {name.ljust(width)}  {text}" for name, text in listed)])
