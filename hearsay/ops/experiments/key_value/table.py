"""The acceptance table: mean squared error of means and median relative error of frequencies, against known values."""

from typing import Any

import numpy as np

from hearsay.ops.experiments.key_value.methods import (
    Method,
    Setting,
    mean_error,
    pckv_grr,
    privkv,
    privkvm,
    relative_error,
)
from hearsay.ops.experiments.output import Result

METHODS: dict[str, Method] = {
    "privkv split, paper": privkv(budget="split", estimator="paper"),
    "privkvm, 6 rounds": privkvm(6, estimator="paper"),
    "virtual, 6 rounds": privkv(budget="split", virtual=6, initial=1.0),
    "unbiased": privkv(budget="split"),
    "joint": privkv(),
    "pckv-grr": pckv_grr,
}
# data, reports, epsilon, errors of means of every method, and errors of frequencies of those that have their own.
EXPECTED: list[tuple[str, int, float, tuple[float, ...], tuple[float, float, float]]] = [
    ("gauss", 10**5, 0.5, (0.261, 0.8, 0.617, 0.539, 0.33, 0.302), (0.326, 0.221, 0.322)),
    ("gauss", 10**5, 1.0, (0.161, 0.554, 0.425, 0.342, 0.174, 0.149), (0.162, 0.112, 0.144)),
    ("gauss", 10**5, 2.0, (0.115, 0.319, 0.226, 0.15, 0.051, 0.035), (0.085, 0.058, 0.061)),
    ("gauss", 10**5, 4.0, (0.067, 0.147, 0.052, 0.035, 0.0107, 0.0054), (0.05, 0.038, 0.033)),
    ("gauss", 10**6, 1.0, (0.129, 0.201, 0.291, 0.114, 0.032, 0.029), (0.052, 0.035, 0.045)),
    ("gauss", 10**6, 4.0, (0.062, 0.047, 0.023, 0.0048, 0.0012, 0.0006), (0.016, 0.012, 0.01)),
    ("power-law", 10**5, 1.0, (0.467, 0.885, 0.87, 0.624, 0.232, 0.163), (0.375, 0.257, 0.274)),
    ("power-law", 10**5, 4.0, (0.198, 0.238, 0.054, 0.033, 0.0095, 0.0031), (0.1, 0.069, 0.039)),
    ("power-law", 10**6, 1.0, (0.42, 0.364, 0.537, 0.118, 0.03, 0.022), (0.119, 0.082, 0.087)),
]  # fmt: skip
WITH_SHARES = ("privkv split, paper", "joint", "pckv-grr")
WITHIN = 0.10
MOST_ROUNDS, SHOWN = 10, (1, 2, 3, 6, 10)


def tolerance(expected: float) -> float:
    """10%, and the rounding of the expected value: half a unit of its last digit, four decimals at most."""
    return WITHIN * expected + 0.5 * 10 ** -(4 if expected < 0.02 else 3)


def acceptance(runs: int, generator: np.random.Generator) -> Result:
    """Every cell of the table, over so many runs."""
    result = Result(
        "acceptance",
        f"Errors of means (mean squared) and frequencies (median relative); {runs} runs, {4 * runs} of single rounds",
        ["data", "reports", "epsilon", "method", "means", "expected", "frequencies", "expected "],
        [],
        "means are clipped to -1..1, and 0 if the estimated share is not positive; counts are drawn from their exact "
        "distribution; virtual has initial mean 1, as published",
    )
    for data, reports, epsilon, means, shares in EXPECTED:
        setting = Setting(data, 100, reports, epsilon)
        errors: dict[str, float] = {}
        wanted_shares = dict(zip(WITH_SHARES, shares, strict=True))
        for (name, method), wanted_mean in zip(METHODS.items(), means, strict=True):
            wanted_share = wanted_shares.get(name)
            estimates = [method(setting, generator) for _ in range(_runs(name, runs))]
            mean = float(np.mean([mean_error(one, setting.law) for one in estimates]))
            share = float(np.mean([relative_error(one, setting.law) for one in estimates]))
            errors[name] = mean
            result.rows.append([data, reports, epsilon, name, mean, wanted_mean, share, wanted_share])
            _compare(result, f"{data} {reports:,} eps {epsilon:g} {name}", mean, wanted_mean, share, wanted_share)
        result.expect(errors["joint"] < errors["unbiased"], f"{data} {reports} eps {epsilon:g}: joint above unbiased")
    return result


def _runs(name: str, runs: int) -> int:
    """A single round costs little, and its errors vary more from run to run."""
    return runs if name.startswith("privkvm") else 4 * runs


def _compare(result: Result, where: str, mean: float, wanted: float, share: float, wanted_share: Any) -> None:
    result.expect(abs(mean - wanted) <= tolerance(wanted), f"{where}: means {mean:.4f}, expected {wanted}")
    if wanted_share is not None:
        close = abs(share - wanted_share) <= tolerance(wanted_share)
        result.expect(close, f"{where}: frequencies {share:.4f}, expected {wanted_share}")


def against_rounds(runs: int, generator: np.random.Generator) -> Result:
    """One round of joint or pckv-grr against any number of rounds of privkvm, at a million reports."""
    result = Result(
        "one-round-or-many",
        f"Mean squared error of means at n = 1,000,000 (privkvm: in every round); {runs} runs",
        ["data", "epsilon", "joint", "pckv-grr", *(f"privkvm {rounds}" for rounds in SHOWN), "best", "best, paper"],
        [],
        f"privkvm N: unbiased, all N rounds combined; best: the least error for 1 to {MOST_ROUNDS} rounds; best, "
        "paper: the same with the paper's estimator",
    )
    for data in ("gauss", "power-law"):
        for epsilon in (0.5, 1.0, 2.0, 4.0):
            setting = Setting(data, 100, 10**6, epsilon)

            def error(method: Method, times: int, setting: Setting = setting) -> float:
                return float(np.mean([mean_error(method(setting, generator), setting.law) for _ in range(times)]))

            ours = [error(privkv(), 20 * runs), error(pckv_grr, 20 * runs)]
            every = range(1, MOST_ROUNDS + 1)
            many = {rounds: error(privkvm(rounds), runs) for rounds in every}
            best, paper = min(many.values()), min(error(privkvm(rounds, estimator="paper"), runs) for rounds in every)
            result.rows.append([data, epsilon, *ours, *(many[rounds] for rounds in SHOWN), best, paper])
            result.expect(max(ours) < min(best, paper), f"{data} eps {epsilon:g}: privkvm beats one round")
    return result
