"""Beyond the dissertation: three characters per report (t = 2), categories without a binary code, models against CALM.

d is the number of attributes, k the order of marginals, N the number of devices.
"""

from collections.abc import Iterator
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np

from hearsay.mechanisms.estimates.postprocess import project
from hearsay.mechanisms.marginals.analyses.maxent import fit
from hearsay.mechanisms.marginals.domain import AttributeDomain
from hearsay.mechanisms.marginals.methods.inp_ht import InpHT
from hearsay.ops.experiments.marginals.data import People, flights
from hearsay.ops.experiments.marginals.runs import CALM, INP_HT, OURS, Method, Settings, build, survey
from hearsay.ops.experiments.output import Result
from hearsay.ops.terminal.progress import steps_bar

DEVICES = 200_000


def three_characters(settings: Settings) -> Iterator[Result]:
    """Mean cell variance with level weights, and with t = 2 besides, against the dissertation's inp-ht; epsilon 1.1."""
    result = Result(
        "variance",
        "Mean cell variance at epsilon 1.1, even shares, against inp-ht of the dissertation",
        ["d", "k", "inp-ht", "level weights", "t = 2", "saved", "expected"],
        [],
        "n times the variance, exact",
    )
    weights = Method("weights", InpHT, {"t": 1})
    for attributes, order, expected in ((8, 2, 0.40), (16, 2, 0.49), (32, 2, 0.57), (16, 3, 0.62)):
        variances = [
            build(method, attributes, order, 1.1).predicted_stderr(1)["marginal"] ** 2
            for method in (INP_HT, weights, OURS)
        ]
        saved = 1 - variances[2] / variances[0]
        result.rows.append([attributes, order, *(round(each, 2) for each in variances), round(saved, 3), expected])
        result.expect(
            abs(saved - expected) < 0.015, f"d = {attributes}, k = {order}: {saved:.2f} saved instead of {expected}"
        )
    yield result


def _categorical(sizes: tuple[int, ...], devices: int, generator: np.random.Generator) -> People:
    """Correlated attributes with `sizes` values each: half of every value is a number that all share."""
    common = generator.random(devices)
    columns = [(size * (0.5 * common + 0.5 * generator.random(devices)) ** 2).astype(np.int64) for size in sizes]
    return People.of(np.stack(columns, axis=1))


def categories(settings: Settings) -> Iterator[Result]:
    """Sizes 3, 5, 7, 12, k = 2, N = 200,000: the binary code of Kulkarni's corollary 1 against the natural form."""
    sizes, generator = (3, 5, 7, 12), settings.generator
    domain = AttributeDomain.parse({"kind": "attributes", "names": list("abcd"), "sizes": list(sizes), "order": 2})
    forms: dict[str, dict[str, Any]] = {
        "binary code (corollary 1)": {"code": "binary", "t": 1, "weights": "uniform"},
        "binary code, level weights": {"code": "binary", "t": 1},
        "binary code, t = 2": {"code": "binary", "t": 2},
        "natural": {"code": "natural"},
    }
    result = Result(
        "categories",
        f"Sizes {sizes}, k = 2, N = {DEVICES:,}: mean total variation",
        ["epsilon", "form", "t", "measured", "+-", "against the binary code", "mass on impossible codes"],
        [],
    )
    people = _categorical(sizes, DEVICES, generator)
    least_saved = {0.5: 0.0, 1.1: 0.13, 2.0: 0.30}  # by epsilon: what the natural form must save of corollary 1's error
    runs = 6 if settings.quick else max(40, settings.runs)
    for epsilon, to_save in least_saved.items():
        binary_error = None  # of the first form
        for name, options in forms.items():
            mechanism = InpHT.create(epsilon, domain, options)
            errors = []
            for _ in range(runs):
                estimate = survey(mechanism, people, settings.random, generator)
                tables = [estimate.table(pair) for pair in combinations(range(4), 2)]
                variations = [
                    np.abs(table.value - people.table(table.attributes, table.shape)).sum() / 2 for table in tables
                ]
                errors.append(float(np.mean(variations)))
            mean, stderr = float(np.mean(errors)), float(np.std(errors, ddof=1)) / sqrt(runs)
            binary_error = mean if binary_error is None else binary_error
            mass = max(abs(table.value.sum() - 1) for table in tables)  # of the last run
            against = f"{mean / binary_error - 1:+.1%}"
            result.rows.append(
                [epsilon, name, mechanism.subspaces.t, round(mean, 4), round(stderr, 4), against, round(mass, 12)]
            )
            if name == "natural":
                result.expect(
                    mean < (1 - to_save) * binary_error + 2 * stderr,
                    f"natural saves {1 - mean / binary_error:.0%} at epsilon {epsilon}, must save {to_save:.0%}",
                )
    yield result


def models(settings: Settings) -> Iterator[Result]:
    """Maximum entropy on pairs, and projected tables of three attributes, against CALM; d = 16, epsilon 1, flights."""
    generator, data = settings.generator, flights()
    single = Method("inp-ht, projected", InpHT, {"weights": "uniform", "t": 1})
    compared = (  # method, order that it collects, whether a model is fitted, error measured elsewhere
        (single, 3, False, 0.118),
        (Method("t = 2, projected", InpHT, {}), 3, False, 0.076),
        (CALM, 3, False, 0.056),
        (Method("t = 2 of order 2, maximum entropy", InpHT, {}), 2, True, 0.050),
    )
    result = Result(
        "models",
        f"Marginals of three of sixteen attributes, flights, N = {DEVICES:,}, epsilon 1: mean total variation",
        ["method", "measured", "+-", "elsewhere"],
        [],
        "elsewhere: with other attributes of the same flights; maximum entropy misses interactions of three attributes",
    )
    runs = 1 if settings.quick else settings.runs
    mean_errors = {}
    with steps_bar("models", len(compared) * runs) as step:
        for method, order, fits_model, elsewhere in compared:
            mechanism = build(method, 16, order, 1.0)
            errors = []
            for _ in range(runs):
                people = data.drawn(DEVICES, generator)
                estimate = survey(mechanism, people, settings.random, generator)
                sets = list(combinations(range(16), 3))[:: 7 if settings.quick else 1]
                variations = []
                for attributes in sets:
                    table = fit(estimate, attributes) if fits_model else estimate.table(attributes)
                    shares = table.value if fits_model else project(table.value)
                    variations.append(np.abs(shares - people.marginal(attributes)).sum() / 2)
                errors.append(float(np.mean(variations)))
                step()
            mean_errors[method.name] = float(np.mean(errors))
            result.rows.append(
                [method.name, round(mean_errors[method.name], 4), round(float(np.std(errors)), 4), elsewhere]
            )
    ours, calm = mean_errors[compared[3][0].name], mean_errors[CALM.name]
    result.expect(ours < calm, f"maximum entropy of pairs has {ours:.4f}, CALM {calm:.4f}")
    yield result
