"""A worked example of a query: some devices, a question, and the answer by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Example:
    """`answers` is what `question` must answer about exactly these values, in order.

    None stands for an answer that nobody computes by hand. `about` is the item or the cell of each answer; empty: they
    name none. `survey` is a table as `hearsay.mechanisms.build` takes it, `values` holds one value per device, as
    `Device.report` takes it.
    """

    survey: Mapping[str, Any]
    values: Sequence[Any]
    question: str
    answers: Sequence[float | None]
    about: Sequence[Any] = ()


# A line of four values: the shares are 1/6, 1/2, 0 and 1/3.
LINE: Mapping[str, Any] = {"mechanism": "haar", "epsilon": 3.0, "domain": {"kind": "ordinal", "size": 4}}
ON_A_LINE = (0, 1, 1, 1, 3, 3)
