"""Figures 6.1 and 6.6: what unconstrained programs give, and what constraints make of them."""

from typing import Any

from hearsay.mechanisms.counts.integers import to_shares
from hearsay.mechanisms.counts.objectives import Objective
from hearsay.mechanisms.counts.properties import dishonest, gaps, properties_of
from hearsay.ops.experiments.counts.contenders import design
from hearsay.ops.experiments.counts.pictures import heat_maps
from hearsay.ops.experiments.output import Result

# K's text at 6.3 (always '2', 2 or 5 nine times out of ten...) is of more privacy than the 0.62 that the figure names.
UNCONSTRAINED = [
    (ratio, largest, objective)
    for ratio in (0.62, 0.9)
    for largest, objective in ((5, "L0,1"), (7, "L1"), (4, "L2"), (7, "L2"))
]


def figure_1() -> Result:
    """Gaps and spikes of the best matrices without properties."""
    result = Result(
        "figure-6-1",
        "Figure 6.1: optimal mechanisms without required properties",
        ["a", "n", "objective", "score", "never reported", "inputs less likely than a wrong output", "properties"],
        [],
        "each has gaps: outputs that are never reported, whatever the count",
    )
    matrices = []
    for ratio, largest, objective in UNCONSTRAINED:
        shares = to_shares(design("lp", largest, ratio, objective=objective))
        never, wrong = gaps(shares), dishonest(shares)
        result.rows.append([
            ratio, largest, objective, round(Objective.parse(objective).score(shares), 4),
            " ".join(map(str, never)), " ".join(map(str, wrong)), " ".join(properties_of(shares)),
        ])  # fmt: skip
        result.expect(bool(never), f"{objective}, n = {largest}, a = {ratio} has no gaps")
        matrices.append((f"{objective}, n = {largest}, a = {ratio}", shares))
    always = matrices[-2][1]  # L2, n = 4, a = 0.9
    result.expect(bool((always[2] > 1 - 1e-6).all()), "L2 at n = 4, a = 0.9 does not always report 2")

    def draw(figure: Any) -> None:
        heat_maps(figure, matrices, 4)

    result.draw = draw
    return result


def figure_6() -> Result:
    """gm, em and wm for groups of four."""
    result = Result(
        "figure-6-6",
        "Figure 6.6: probabilities of four mechanisms, n = 4, a = 0.9",
        ["mechanism", "L0", "L1", "truth of 0", "truth of 2", "properties"],
        [],
    )
    matrices = []
    for name, options in (("gm", {}), ("em", {}), ("wm", {}), ("em, least L1", {"tie": "l1"})):
        shares = to_shares(design(name.split(",")[0], 4, 0.9, **options))
        result.rows.append([
            name, round(Objective().score(shares), 4), round(Objective(power=1).score(shares), 4),
            round(float(shares[0, 0]), 4), round(float(shares[2, 2]), 4), " ".join(properties_of(shares)),
        ])  # fmt: skip
        matrices.append((name, shares))
    truth = matrices[1][1][0, 0]
    result.expect(abs(truth - 0.226244) < 1e-6, f"em tells the truth with {truth:.6f}, not 0.226244")

    def draw(figure: Any) -> None:
        heat_maps(figure, matrices, 4)

    result.draw = draw
    return result
