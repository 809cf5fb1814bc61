"""Predicted errors of very large domains: what `auto` compares, without arrays of the domain's size."""

import tracemalloc

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.estimates.ranges import sampled_ranges
from hearsay.mechanisms.ranges.flat import Flat, FlatEstimate
from hearsay.mechanisms.ranges.level_noise import LevelNoise

FEW_BYTES = 16 << 20
REPORTS = 100_000


@pytest.mark.parametrize("mechanism", ["haar", "flat"])
def test_the_largest_domain_takes_little_memory(mechanism: str) -> None:
    built = build({"mechanism": mechanism, "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 1 << 28}})
    tracemalloc.start()
    predicted = built.predicted_stderr(REPORTS)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert predicted["range"] > 0
    assert most < FEW_BYTES


@pytest.mark.parametrize("size", [2, 5, 64, 1000])
def test_haar_predicts_the_mean_over_all_cuts(size: int) -> None:
    built = build({"mechanism": "haar", "epsilon": 1.1, "domain": {"kind": "ordinal", "size": size}})
    height = (size - 1).bit_length()
    tanh = float(np.tanh(1.1 / 2))
    total = 0.0
    for level in range(1, height + 1):
        cells = 1 << level
        left = np.minimum(np.arange(cells), cells - np.arange(cells)) / cells
        nodes = 1 << (height - level)
        total += 2 * height / (REPORTS * tanh**2) * ((left**2).mean() - left.mean() ** 2 / nodes)
    assert built.predicted_stderr(REPORTS)["range"] == pytest.approx(np.sqrt(total), rel=1e-9)


@pytest.mark.parametrize("size", [3, 64, 1000])
@pytest.mark.parametrize("oracle", ["oue", "olh", "hrr"])
def test_flat_predicts_what_its_estimate_says_of_even_cells(size: int, oracle: str) -> None:
    domain = {"kind": "ordinal", "size": size}
    built = build({"mechanism": "flat", "epsilon": 1.1, "domain": domain, "options": {"oracle": oracle}})
    assert isinstance(built, Flat)
    noise = LevelNoise.of(built.oracle, REPORTS, own_counts=False)
    even = FlatEstimate(
        built.domain, REPORTS, np.full(size, 1 / size), np.zeros(size), np.arange(size + 1) / size, noise, ()
    )
    _, variance = even.answer(*sampled_ranges(size))
    assert built.predicted_stderr(REPORTS)["range"] == pytest.approx(float(np.sqrt(variance.mean())), rel=1e-9)
