"""How much smaller errors are with levels chosen for the workload than with Kulkarni's uniform hierarchies.

Chosen are the levels, and for each its oracle, its offsets (shifted copies of its nodes) and its share of the devices.
"""

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
    "saved: by how much the root mean squared error is below that of the best uniform oue hierarchy (fan-out 2, 4 or "
    "16); one offset: optimised, but without shifted nodes; isotonic: the cumulative distribution of optimised: all "
    "after isotonic regression, biased but closer; the ends of long ranges are far apart, as those of most ranges are, "
    "so that the workload long saves no more than all"
)


def optimised(runs: int, generator: np.random.Generator) -> Result:
    """Measured and predicted errors of optimised levels beside uniform ones and haar, for every workload."""
    columns = ["cells", "epsilon", "workload", "method", "measured", "saved", "predicted", "saved as predicted"]
    result = Result("optimised", "Levels for a workload: root of the mean squared error x 1000", columns, [], NOTE)
    with steps_bar("levels for a workload", len(SIZES) * len(EPSILONS)) as step:
        for size in SIZES:
            devices = cauchy(size)
            for epsilon in EPSILONS:
                uniform: list[Method] = [
                    TreeMethod.uniform(f"uniform oue {fanout}", size, epsilon, fanout) for fanout in (2, 4, 16)
                ]
                plans = {load: optimise(size, epsilon, load) for load in WORKLOADS}
                tuned = [TreeMethod(f"optimised: {load}", size, epsilon, plan) for load, plan in plans.items()]
                one_offset = TreeMethod("one offset: all", size, epsilon, optimise(size, epsilon, "all", offsets=1))
                everyone = [*uniform, HaarMethod(size, epsilon), one_offset, *tuned]
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
                    best_measured, best_predicted = (
                        min(figures[method.name] for method in uniform) for figures in (measured, predicted)
                    )
                    for name, value in measured.items():
                        row = [size, epsilon, workload, name, round(value, 3), f"{1 - value / best_measured:.1%}"]
                        expected = predicted.get(name)
                        if expected is None:
                            row += [None, None]
                        else:
                            row += [round(expected, 3), f"{1 - expected / best_predicted:.1%}"]
                        result.rows.append(row)
                _check(result, size, epsilon)
                step()
    return result


def _isotonic(errors: PrefixErrors, devices: Counts) -> PrefixErrors:
    truth = np.concatenate([[0.0], np.cumsum(devices) / devices.sum()])
    return PrefixErrors(isotonic(truth + errors.errors) - truth)


def _check(result: Result, size: int, epsilon: float) -> None:
    """Check the predicted errors: measured ones of a few runs are too noisy for differences of a few per cent."""
    method, predicted = result.columns.index("method"), result.columns.index("predicted")

    def errors_over(workload: str) -> dict[str, float]:
        return {row[method]: row[predicted] for row in result.rows if row[:3] == [size, epsilon, workload]}

    errors = errors_over("all")
    optimised_for_all = errors["optimised: all"]
    uniform = min(error for name, error in errors.items() if name.startswith("uniform"))
    result.expect(optimised_for_all <= 0.9 * uniform, f"{size} cells, epsilon {epsilon}: saves too little")
    result.expect(optimised_for_all <= errors["haar"], f"{size} cells, epsilon {epsilon}: above haar")
    for workload in ("prefix", "short", "long"):
        errors = errors_over(workload)
        is_no_worse = errors[f"optimised: {workload}"] <= errors["optimised: all"] * 1.001
        result.expect(is_no_worse, f"{size} cells, epsilon {epsilon}: optimised for {workload} is worse than for all")
