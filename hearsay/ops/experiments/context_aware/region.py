"""Figure 1 of Acharya et al.: the least errors of any test, and those of the binary mechanism, which reaches them."""

from math import inf
from typing import Any

import numpy as np

from hearsay.mechanisms import build
from hearsay.mechanisms.guarantees.guessing import achieved, boundary, unavoidable
from hearsay.ops.experiments.lines import line_style
from hearsay.ops.experiments.output import Result

PAIRS = ((1.0, 1.0), (0.5, 2.0), (inf, 1.0), (0.2, 0.2))


def figure_1() -> Result:
    """The corner of every region beside the errors of the binary mechanism."""
    rows: list[list[Any]] = []
    for first, second in PAIRS:
        channel = _binary(first, second)
        reached = achieved(channel[0], channel[1])[1]
        corner = unavoidable(first, second)
        rows.append([str(first), str(second), corner.false_alarm, corner.miss, reached.false_alarm, reached.miss])
    result = Result(
        "figure-1",
        "Figure 1: least errors of any test that distinguishes value 1 from value 2",
        ["epsilon 12", "epsilon 21", "false alarm", "miss", "false alarm reached", "miss reached"],
        rows,
        caption="reached: by the best test of the mechanism `binary`",
        draw=_draw,
    )
    for row in rows:
        result.expect(np.allclose(row[2:4], row[4:6], atol=1e-12), f"the corner of {row[:2]} is not reached")
    return result


def _binary(first: float, second: float) -> Any:
    options = {"epsilon_12": "inf" if first == inf else first, "epsilon_21": "inf" if second == inf else second}
    domain = {"kind": "binary"}
    return build({"mechanism": "binary", "epsilon": 1.0, "domain": domain, "options": options}).channel()


def _draw(figure: Any) -> None:
    axis = figure.subplots()
    for number, (first, second) in enumerate(PAIRS):
        line = np.array(boundary(first, second))
        label = f"epsilon 12 = {first:g}, epsilon 21 = {second:g}"
        axis.plot(line[:, 0], line[:, 1], label=label, **line_style(number, len(PAIRS)))
    axis.set_xlabel("probability of a false alarm")
    axis.set_ylabel("probability of a miss")
    axis.set_title("every test is on or above its line", fontsize=9)
    axis.legend(fontsize=8)
    axis.set_aspect("equal")
