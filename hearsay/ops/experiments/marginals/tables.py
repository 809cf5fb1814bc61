"""The acceptance values, table 4.1's costs beside measured bytes and bounds, and table 4.2's failures."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import ceil, log, sqrt

from hearsay.collector.wire.codec import Codec
from hearsay.ops.experiments.marginals.data import flight_bits
from hearsay.ops.experiments.marginals.runs import (
    DISSERTATION,
    INP_EM,
    INP_EM_INVERSE,
    INP_HT,
    INP_OLH,
    INP_PS,
    INP_RR,
    MARG_HT,
    MARG_PS,
    MARG_RR,
    OURS,
    Method,
    Settings,
    build,
    survey,
    variation,
)
from hearsay.ops.experiments.output import Result
from hearsay.ops.terminal.progress import steps_bar

EPSILON = log(3)
DEVICES = 1 << 18
ACCEPTANCE_RUNS = 60
TOLERANCE = 0.05
WEIGHTS = Method("inp-ht, level weights", OURS.made, {"weights": "levels", "t": 1})
KNOWN_TOTAL = Method("inp-rr, known total", INP_RR.made, {})
# Mean total variation over all sets of k of the flights' eight attributes, computed elsewhere by the same formulas.
EXPECTED: tuple[tuple[int, Method, float], ...] = (
    (2, INP_HT, 0.0158), (2, WEIGHTS, 0.0141), (2, OURS, 0.0124), (2, MARG_PS, 0.0211), (2, MARG_HT, 0.0241),
    (2, MARG_RR, 0.0304), (2, INP_RR, 0.0432), (2, INP_OLH, 0.0369), (2, INP_PS, 0.174), (2, INP_EM_INVERSE, 0.167),
    (2, KNOWN_TOTAL, 0.037), (3, INP_HT, 0.0388), (3, OURS, 0.0289), (3, INP_RR, 0.0611), (3, MARG_PS, 0.0766),
    (4, INP_HT, 0.0757), (4, INP_RR, 0.0864), (5, INP_HT, 0.1268), (5, INP_RR, 0.1222),
)  # fmt: skip


def acceptance(settings: Settings) -> Iterator[Result]:
    """Every method on the flights' eight attributes, N = 2^18, e^epsilon = 3."""
    runs = 4 if settings.quick else max(settings.runs, ACCEPTANCE_RUNS)
    settings = replace(settings, runs=runs)
    result = Result(
        "acceptance",
        f"Flights, eight attributes, N = {DEVICES:,}, e^epsilon = 3: mean total variation of {runs} runs",
        ["k", "method", "measured", "+-", "expected", "ratio"],
        [],
        "+-: standard error of the mean; expected within 5%, where there are enough runs to tell",
    )
    with steps_bar("acceptance", len(EXPECTED)) as step:
        for order, method, expected in EXPECTED:
            measured = variation(method, flight_bits(8), DEVICES, order, EPSILON, settings)
            error = measured.spread / sqrt(runs)
            ratio = measured.mean / expected
            result.rows.append(
                [order, method.name, round(measured.mean, 5), round(error, 5), expected, round(ratio, 3)]
            )
            near = abs(ratio - 1) <= TOLERANCE + 3 * error / expected
            result.expect(near, f"k = {order}, {method.name}: {measured.mean:.4f} where {expected} is expected")
            step()
    yield result


# Kulkarni's table 4.1 as printed: bits, and the error up to 1/(epsilon sqrt N); then what theorems and lemma 7 prove.
Growth = Callable[[int, int], float]
PRINTED: dict[str, tuple[Callable[[int, int], int], str, str, Growth]] = {
    "inp-rr": (lambda d, k: 2**d, "2^(k/2) 2^d", "2^((d+k)/2)", lambda d, k: 2 ** ((d + k) / 2)),
    "inp-ps": (lambda d, k: d, "2^(k/2) 2^d", "2^(d+k/2)", lambda d, k: 2 ** (d + k / 2)),
    "inp-ht": (lambda d, k: d + 1, "2^(k/2) d^k", "(2d)^(k/2)", lambda d, k: (2 * d) ** (k / 2)),
    "marg-rr": (lambda d, k: d + 2**k, "2^k d^(k/2)", "2^k d^(k/2)", lambda d, k: 2**k * d ** (k / 2)),
    "marg-ps": (lambda d, k: d + k, "2^(3k/2) d^(k/2)", "2^(3k/2) d^(k/2)", lambda d, k: 2 ** (1.5 * k) * d ** (k / 2)),
    "marg-ht": (lambda d, k: d + k + 1, "2^(3k/2) d^(k/2)", "2^k d^(k/2)", lambda d, k: 2**k * d ** (k / 2)),
}


def costs(settings: Settings) -> Iterator[Result]:
    """Table 4.1: printed bits beside measured bytes, and the proven bounds beside measured errors."""
    result = Result(
        "table-4.1",
        "Table 4.1: bits as printed, bytes of one report as sent, error and bound (d attributes, order k)",
        ["d", "k", "method", "bits printed", "bytes sent", "error printed", "proven", "bound", "measured", "ratio"],
        [],
        "bound: the proven growth / (epsilon sqrt N), without constant and logarithms; ratio: measured/bound, which "
        "stays nearly constant along d where a bound grows as the error does",
    )
    devices = 1 << 14 if settings.quick else 1 << 18
    sizes = (4, 8) if settings.quick else (4, 8, 12, 16)
    for attributes in sizes:
        for order in (1, 2, 3):
            for method in DISSERTATION:
                bits, printed, proven, growth = PRINTED[method.name]
                mechanism = build(method, attributes, order, EPSILON)
                report = mechanism.perturb(flight_bits(attributes).rows[:1], settings.random)
                size = len(Codec(mechanism.layout).encode_singles(report)[0])
                measured = variation(
                    method, flight_bits(attributes), devices, order, EPSILON, replace(settings, runs=2)
                )
                bound = growth(attributes, order) / (EPSILON * sqrt(devices))
                result.rows.append(
                    [attributes, order, method.name, bits(attributes, order), size, printed, proven, round(bound, 4),
                     round(measured.mean, 4), round(measured.mean / bound, 3)]
                )  # fmt: skip
                most = ceil(bits(attributes, order) / 8) + 6
                result.expect(size <= most, f"{method.name} sends {size} bytes, d = {attributes}, k = {order}")
                below = measured.mean < 3 * bound
                result.expect(below, f"{method.name} is above its bound, d = {attributes}, k = {order}")
    yield result


# Table 4.2: devices, attributes, order, epsilon, and the failures printed.
FAILURES = (
    (1 << 16, 8, 1, 0.2, "3/8"), (1 << 18, 8, 2, 0.1, "15/28"), (1 << 16, 8, 2, 0.2, "3/28"),
    (1 << 16, 12, 2, 0.2, "19/66"), (1 << 18, 16, 2, 0.1, "120/120"), (1 << 18, 16, 2, 0.2, "72/120"),
    (1 << 19, 24, 2, 0.2, "276/276"),
)  # fmt: skip


def failures(settings: Settings) -> Iterator[Result]:
    """Table 4.2: how many marginals expectation maximisation leaves at its prior."""
    result = Result(
        "table-4.2",
        "Table 4.2: marginals that expectation maximisation answers with its prior",
        ["devices", "d", "k", "epsilon", "failed", "of", "printed", "inverse fails"],
        [],
        "printed: on taxi trips, which had other shares; the inverse never stops anywhere",
    )
    generator = settings.generator
    for devices, attributes, order, epsilon, printed in FAILURES[:4] if settings.quick else FAILURES:
        mechanism = build(INP_EM, attributes, order, epsilon)
        estimate = survey(mechanism, flight_bits(attributes).drawn(devices, generator), settings.random, generator)
        sets = estimate.sets(order)
        failed = sum("stopped at its prior" in estimate.table(chosen).model for chosen in sets)
        result.rows.append([devices, attributes, order, epsilon, failed, len(sets), printed, 0])
        if (attributes, epsilon) in ((16, 0.1), (24, 0.2)):
            result.expect(failed >= 0.95 * len(sets), f"d = {attributes}, epsilon {epsilon}: only {failed} fail")
    yield result
