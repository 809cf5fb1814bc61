"""Error against the length of a range, as Kulkarni's figure 5.3, and against epsilon."""

from typing import Any

import numpy as np

from hearsay.mechanisms.oracles.unary import OUE
from hearsay.mechanisms.ranges.hierarchical.level_plan import optimise
from hearsay.ops.experiments.lines import line_style
from hearsay.ops.experiments.output import Result
from hearsay.ops.experiments.ranges.draws import DEVICES, HaarMethod, Method, PrefixErrors, TreeMethod, cauchy
from hearsay.ops.experiments.ranges.tables import EPSILONS

LENGTH_SIZES = (1 << 8, 1 << 16)
EPSILON = 1.1


def _rivals(size: int, epsilon: float) -> list[Method]:
    trees = [TreeMethod.uniform(f"HHc{fanout}", size, epsilon, fanout) for fanout in (2, 4, 16)]
    return [*trees, HaarMethod(size, epsilon), TreeMethod("optimised", size, epsilon, optimise(size, epsilon, "all"))]


def by_length(size: int, runs: int, generator: np.random.Generator) -> Result:
    """Root mean squared error of all ranges of a length, measured; flat from its exact variance."""
    devices = cauchy(size)
    lengths = np.unique(np.geomspace(1, size - 1, 33).astype(int))
    noise = OUE.over(2, EPSILON).moments.a / DEVICES
    curves = {"flat": [1000 * float(np.sqrt(length * noise)) for length in lengths]}
    for method in _rivals(size, EPSILON):
        drawn = [PrefixErrors.of(method.draw(devices, generator), devices) for _ in range(runs)]
        curves[method.name] = [
            1000 * float(np.sqrt(np.mean([errors.of_length(int(length)) for errors in drawn]))) for length in lengths
        ]
    points = zip(lengths, *curves.values(), strict=True)
    rows = [[int(length), *(round(value, 4) for value in values)] for length, *values in points]
    result = Result(
        f"by-length-{size}",
        f"Error by length of the range, {size:,} cells, N = 2^26, epsilon {EPSILON}: "
        "root of the mean squared error x 1000",
        ["length", *curves],
        rows,
        "flat's error grows with the square root of the length; the trees' with its logarithm",
    )
    result.expect(curves["flat"][-1] > 2 * curves["optimised"][-1], "long ranges should need a tree")

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for number, (name, curve) in enumerate(curves.items()):
            axes.loglog(lengths, curve, label=name, markevery=(number, len(curves)), **line_style(number, len(curves)))
        axes.set(xlabel="cells in the range", ylabel="root mean squared error x 1000")
        axes.legend()

    result.draw = draw
    return result


def by_epsilon(size: int) -> Result:
    """Expected root mean squared error over all ranges for every epsilon of the tables."""
    curves: dict[str, list[float]] = {}
    for epsilon in EPSILONS:
        for method in _rivals(size, epsilon):
            curves.setdefault(method.name, []).append(1000 * float(np.sqrt(method.expected("all"))))
    points = zip(EPSILONS, *curves.values(), strict=True)
    rows = [[epsilon, *(round(value, 4) for value in values)] for epsilon, *values in points]
    result = Result(
        f"by-epsilon-{size}",
        f"Expected error by epsilon, {size:,} cells, N = 2^26: root of the mean squared error over all ranges x 1000",
        ["epsilon", *curves],
        rows,
    )

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for number, (name, curve) in enumerate(curves.items()):
            axes.loglog(EPSILONS, curve, label=name, **line_style(number, len(curves)))
        axes.set(xlabel="epsilon", ylabel="root mean squared error x 1000")
        axes.legend()

    result.draw = draw
    return result
