"""How pure-ldp and multi-freq-ldpy run the mechanisms that they share with ours: the shortest correct use of each.

They are imported only here and only when asked for: neither is needed for anything else.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.estimate import Floats

Cells = NDArray[np.int64]
Clock = Callable[[], float]


class Run(NamedTuple):
    """Seconds on the devices' side, seconds on the server's side, and estimated shares."""

    perturb_s: float
    aggregate_s: float
    shares: Floats


Runner = Callable[[Cells, int, float, Clock], Run]


def _pure_ldp(make: Callable[[Any, int, float], tuple[Any, Any]]) -> Runner:
    def run(cells: Cells, size: int, epsilon: float, clock: Clock) -> Run:
        from pure_ldp import frequency_oracles

        client, server = make(frequency_oracles, size, epsilon)
        items = [int(cell) + 1 for cell in cells]  # its values count from 1
        start = clock()
        reports = [client.privatise(item) for item in items]
        perturbed = clock()
        for report in reports:
            server.aggregate(report)
        counts = server.estimate_all(range(1, size + 1), suppress_warnings=True)
        return Run(perturbed - start, clock() - perturbed, np.asarray(counts, dtype=np.float64) / len(cells))

    return run


def _multi_freq(module: str, client: str, server: str, sized: bool, **options: Any) -> Runner:
    """`sized` says whether the server's function takes the size of the domain."""

    def run(cells: Cells, size: int, epsilon: float, clock: Clock) -> Run:
        from importlib import import_module

        oracle = import_module(f"multi_freq_ldpy.pure_frequency_oracles.{module}")
        privatise, aggregate = getattr(oracle, client), getattr(oracle, server)
        aggregate_size = (size,) if sized else ()
        privatise(0, size, epsilon, **options)  # some functions are compiled at their first call, which is not timed
        start = clock()
        reports = [privatise(int(cell), size, epsilon, **options) for cell in cells]
        perturbed = clock()
        shares = aggregate(reports, *aggregate_size, epsilon, **options)
        return Run(perturbed - start, clock() - perturbed, np.asarray(shares, dtype=np.float64))

    return run


def _direct(library: Any, size: int, epsilon: float) -> tuple[Any, Any]:
    return library.DEClient(epsilon, size), library.DEServer(epsilon, size)


def _unary(optimised: bool) -> Callable[[Any, int, float], tuple[Any, Any]]:
    def make(library: Any, size: int, epsilon: float) -> tuple[Any, Any]:
        return library.UEClient(epsilon, size, optimised), library.UEServer(epsilon, size, optimised)

    return make


def _hashing(library: Any, size: int, epsilon: float) -> tuple[Any, Any]:
    return library.LHClient(epsilon, size, use_olh=True), library.LHServer(epsilon, size, use_olh=True)


def _hadamard_response(library: Any, size: int, epsilon: float) -> tuple[Any, Any]:
    server = library.HadamardResponseServer(epsilon, size)
    return library.HadamardResponseClient(epsilon, size, server.get_hash_funcs()), server


def _hadamard_mechanism(library: Any, size: int, epsilon: float) -> tuple[Any, Any]:
    return library.HadamardMechClient(epsilon, size, 1), library.HadamardMechServer(epsilon, size, 1)


# Our mechanism, then each library that has it.
SHARED: dict[str, dict[str, Runner]] = {
    "grr": {
        "pure-ldp": _pure_ldp(_direct),
        "multi-freq-ldpy": _multi_freq("GRR", "GRR_Client", "GRR_Aggregator_MI", True),
    },
    "sue": {
        "pure-ldp": _pure_ldp(_unary(False)),
        "multi-freq-ldpy": _multi_freq("UE", "UE_Client", "UE_Aggregator_MI", False, optimal=False),
    },
    "oue": {
        "pure-ldp": _pure_ldp(_unary(True)),
        "multi-freq-ldpy": _multi_freq("UE", "UE_Client", "UE_Aggregator_MI", False, optimal=True),
    },
    "ss": {"multi-freq-ldpy": _multi_freq("SS", "SS_Client", "SS_Aggregator_MI", True)},
    "olh": {
        "pure-ldp": _pure_ldp(_hashing),
        "multi-freq-ldpy": _multi_freq("LH", "LH_Client", "LH_Aggregator_MI", True, optimal=True),
    },
    "hrr": {"pure-ldp": _pure_ldp(_hadamard_mechanism)},
    "hr": {"pure-ldp": _pure_ldp(_hadamard_response)},
}
PACKAGES = {"pure-ldp": "pure_ldp.frequency_oracles", "multi-freq-ldpy": "multi_freq_ldpy.pure_frequency_oracles.GRR"}
