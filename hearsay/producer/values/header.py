"""The first line of a CSV file: which of its columns hold the values.

Names of columns may be shown in a message, values never. A file without a header has values in its first line: where
a name could be a value, no name is shown.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from math import isnan

from hearsay.mechanisms.domains.columns import Labels
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.domains.numbers import number
from hearsay.mechanisms.errors import one_of
from hearsay.producer.errors import ValuesError

_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_LONGEST_NAME = 40  # of a column, as a message shows it
_ALIKE = 0.6  # of two names, one may be the other misspelt
COLUMN_OPTION = "--column"


def wanted_names(domain: Domain, column: str | None) -> tuple[str, ...]:
    """The file's names of the domain's columns; `column` takes the place of the only one."""
    if column is None:
        return domain.columns
    if len(domain.columns) != 1:
        needed = ", ".join(domain.columns)
        raise ValuesError(f"{COLUMN_OPTION} goes with surveys of one column; this one reads the columns {needed}")
    return (column,)


def column_numbers(file: str, header: Sequence[str], domain: Domain, column: str | None) -> list[int]:
    """The number of each of the domain's columns in the header."""
    names = [name.strip() for name in header]
    numbers = []
    all_wanted = wanted_names(domain, column)
    for wanted in all_wanted:
        times = names.count(wanted)
        if times == 0:
            words = f"{file} {_missing(names, wanted, all_wanted, domain)}"
            raise ValuesError(words, what="column", expected=wanted)
        if times > 1:
            raise ValuesError(what=file, must=f"name column {wanted!r} once", got=f"it {times} times in the header")
        numbers.append(names.index(wanted))
    return numbers


def _missing(names: Sequence[str], wanted: str, all_wanted: Sequence[str], domain: Domain) -> str:
    """What is there instead of a column, and what to do."""
    for separator, word in _SEPARATORS.items():
        if any(separator in name for name in names):
            return f"separates its cells by {word}; write commas, and numbers with a decimal point"
    any_text = [domain.cells_in(name) for name in domain.columns] == [None]
    if any(_may_be_value(name, domain) for name in names if name.casefold() != wanted.casefold()):
        line = ",".join(all_wanted)
        header = (
            f"the line {line!r}"
            if len(names) == len(all_wanted)
            else f"a line with the names of all {len(names)} columns"
        )
        if any_text:  # nobody can tell a name from a value
            advice = f"If its first line has names, use {COLUMN_OPTION} NAME; else put {header} above it"
            return f"has no column {wanted!r}. {advice}"
        return f"has no column {wanted!r}: its first line seems to hold values; put {header} above it"
    return missing_column(names, wanted, len(domain.columns) == 1)


def missing_column(names: Sequence[str], wanted: str, may_choose: bool) -> str:
    """The columns that are there, and the nearest one."""
    shown = [_shown(name) for name in names]
    by_case = [name for name in shown if name.casefold() == wanted.casefold()]
    near = by_case or get_close_matches(wanted, shown, n=1, cutoff=_ALIKE) or (shown if len(shown) == 1 else [])
    advice = f"Use {COLUMN_OPTION} {near[0] if near else 'NAME'}." if may_choose else "Rename it in the header."
    if not may_choose and near:
        advice = f"Rename {near[0]!r} in the header."
    return f"has no column {wanted!r}; found: {one_of(shown, wanted)}. {advice}"


def _may_be_value(name: str, domain: Domain) -> bool:
    """Whether a text in the first line may be somebody's value."""
    if not name or not isnan(number(name)):
        return True
    for column in domain.columns:
        cells = domain.cells_in(column)
        if cells is None and len(domain.columns) == 1:  # any text
            return True
        if isinstance(cells, Labels) and name in cells.texts:
            return True
    return False


def _shown(name: str) -> str:
    """A name on one line, not too long."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in name)
    return plain if len(plain) <= _LONGEST_NAME else plain[: _LONGEST_NAME - 3] + "..."
