"""What choosing levels, oracles, offsets and shares for the workload buys over the dissertation's hierarchies."""

import numpy as np

from hearsay.mechanisms.estimates.postprocess import isotonic
from hearsay.mechanisms.ranges.hierarchical.level_plan import WORKLOADS, optimise
from hearsay.ops.experiments.output import Result
from hearsay.ops.experiments.ranges.draws import Counts, HaarMethod, Method, PrefixErrors, TreeMethod, cauchy
from hearsay.ops.terminal.progress import steps_bar

EPSILONS = (0.2, 0.6, 1.1)
SIZES = (1 << 8, 1 << 16)
MEASURES = {
    "all": PrefixErrors.all_ranges,
    "prefix": PrefixErrors.prefixes,
    "short": PrefixErrors.short,
    "long": PrefixErrors.long,
}
NOTE = (
    "saved: root mean squared error below the best uniform oue hierarchy (fan-out 2, 4 or 16); one offset: optimised "
    "oracles and shares, but no shifted nodes; isotonic: the cumulative shares of optimised: all after isotonic "
    "regression, biased but closer; long ranges have two cuts far apart, as most of all ranges do, so that knowing "
    "them buys nothing"
)


def optimised(runs: int, generator: np.random.Generator) -> Result:
    """Measured and predicted errors of optimised levels beside uniform ones and haar, for every workload."""
    columns = ["cells", "epsilon", "workload", "method", "measured", "saved", "predicted", "saved as predicted"]
    result = Result("optimised", "Levels for a workload: root of the mean squared error x 1000", columns, [], NOTE)
    with steps_bar("levels for a workload", len(SIZES) * len(EPSILONS)) as step:
        for size in SIZES:
            devices = cauchy(size)
            for epsilon in EPSILONS:
                rivals: list[Method] = [
                    TreeMethod.uniform(f"uniform oue {fanout}", size, epsilon, fanout) for fanout in (2, 4, 16)
                ]
                plans = {load: optimise(size, epsilon, load) for load in WORKLOADS}
                tuned = [TreeMethod(f"optimised: {load}", size, epsilon, plan) for load, plan in plans.items()]
                one_offset = TreeMethod("one offset: all", size, epsilon, optimise(size, epsilon, "all", offsets=1))
                everyone = [*rivals, HaarMethod(size, epsilon), one_offset, *tuned]
                errors = {
                    method.name: [PrefixErrors.of(method.draw(devices, generator), devices) for _ in range(runs)]
                    for method in everyone
                }
                errors["isotonic"] = [_isotonic(drawn, devices) for drawn in errors["optimised: all"]]
                for workload, measure in MEASURES.items():
                    measured = {
                        name: 1000 * float(np.sqrt(np.mean([measure(each) for each in drawn])))
                        for name, drawn in errors.items()
                    }
                    predicted = {method.name: 1000 * float(np.sqrt(method.expected(workload))) for method in everyone}
                    best = [min(figures[rival.name] for rival in rivals) for figures in (measured, predicted)]
                    for name, value in measured.items():
                        row = [size, epsilon, workload, name, round(value, 3), f"{1 - value / best[0]:.1%}"]
                        expected = predicted.get(name)
                        if expected is None:
                            row += [None, None]
                        else:
                            row += [round(expected, 3), f"{1 - expected / best[1]:.1%}"]
                        result.rows.append(row)
                _check(result, size, epsilon)
                step()
    return result


def _isotonic(errors: PrefixErrors, devices: Counts) -> PrefixErrors:
    truth = np.concatenate([[0.0], np.cumsum(devices) / devices.sum()])
    return PrefixErrors(isotonic(truth + errors.errors) - truth)


def _check(result: Result, size: int, epsilon: float) -> None:
    """By the predicted values, which many runs agree with; few runs are too noisy for differences of a few per cent."""
    rows = {row[3]: row for row in result.rows if row[:3] == [size, epsilon, "all"]}
    best = rows["optimised: all"][6]
    uniform = min(row[6] for name, row in rows.items() if name.startswith("uniform"))
    result.expect(best <= 0.9 * uniform, f"{size} cells, epsilon {epsilon}: saves too little")
    result.expect(best <= rows["haar"][6], f"{size} cells, epsilon {epsilon}: above haar")
    for workload in ("prefix", "short", "long"):
        errors = {row[3]: row[6] for row in result.rows if row[:3] == [size, epsilon, workload]}
        knows = errors[f"optimised: {workload}"] <= errors["optimised: all"] * 1.001
        result.expect(knows, f"{size} cells, epsilon {epsilon}: knowing {workload} does not help")
