"""Whether counts are possible: what no set of reports produces is damaged or made up, and nothing is answered from it.

The arrays of a state are named for what they hold, alone or as `level/name`:

sum, observation   sums of signs, -1 or 1 for each report that counts. With `count` of the same shape beside it a sum is
                   at most so far from 0, and even where the count is even. Sums of other numbers stand beside `n`.
ones               reports with a bit set: at most the reports beside it, in `n`, `reports` or `count`
all others         how many reports: never below 0
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIGNED = ("sum", "observation")
TOTALS = ("n", "reports", "count")
Counters = NDArray[np.int64]


def impossible(state: Mapping[str, Counters], reports: int) -> str | None:
    """Why no set of so many reports produces these counts; None: some may."""
    levels: dict[str, dict[str, Counters]] = {}
    for path, array in state.items():
        level, _, name = path.rpartition("/")
        levels.setdefault(level, {})[name] = array
        if name not in SIGNED and array.size and int(array.min()) < 0:
            return f"array {path} has counts below 0"
    if reports < 0:
        return "there are fewer than 0 reports"
    for level, arrays in levels.items():
        where = f" of level {level}" if level else ""
        count = arrays.get("count")
        if "sum" in arrays and count is not None and count.shape == arrays["sum"].shape:
            if (np.abs(arrays["sum"]) > count).any():
                return f"sums{where} are further from 0 than reports were counted"
            if ((arrays["sum"] ^ count) & 1).any():
                return f"sums{where} do not fit the number of reports counted"
        total = next((arrays[name] for name in TOTALS if name in arrays), np.array(reports))
        for name in ("ones", "observation"):
            if name in arrays and _exceeds(arrays[name], total):
                return f"array {name}{where} has more than there are reports"
    return None


def _exceeds(array: Counters, total: Counters) -> Any:
    return (np.abs(array) > (total if total.shape == array.shape else total.sum())).any()
