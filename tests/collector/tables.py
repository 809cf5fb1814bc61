"""Survey tables to change one field of."""

import copy
from typing import Any

from tests.mechanisms.shared import Case

COMPLETE: dict[str, Any] = {
    "name": "drinks",
    "mechanism": "olh",
    "epsilon": 1.1,
    "domain": {"kind": "categorical", "categories": ["tea", "coffee", "water", "milk", "juice"]},
    "options": {"t": 2},
    "window": {"every": "1h", "retain": "30d"},
    "answers": {"minimum_reports": 100},
}
SIZED = {"kind": "categorical", "size": 6}
BINNED = {"kind": "ordinal", "low": 0.0, "high": 10.0, "bins": 5}


def changed(path: str, value: Any, table: dict[str, Any] | None = None) -> dict[str, Any]:
    """The complete survey with one field changed; `...` takes it away."""
    result = copy.deepcopy(COMPLETE if table is None else table)
    *parents, last = path.split(".")
    holder = result
    for parent in parents:
        holder = holder[parent]
    if value is ...:
        del holder[last]
    else:
        holder[last] = value
    return result


def complete(case: Case) -> dict[str, Any]:
    """An example of a mechanism as a survey with every table."""
    in_rounds = case.build().rounds > 1
    when = {"rounds": {"reports": 100}} if in_rounds else {"window": {"every": "1h"}}
    extra = {"name": "example", **when, "answers": {"minimum_reports": 5}}
    return {"options": {}, **copy.deepcopy(case.table), **extra}
