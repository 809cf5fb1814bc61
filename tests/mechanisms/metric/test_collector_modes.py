"""Prefix sums, single frequencies and kept reports give the same answers."""

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.metric.collector_modes import KeptReports, SingleFrequencies
from hearsay.mechanisms.metric.l1 import MetricL1Signs


@pytest.mark.parametrize("anchored", [True, False])
@pytest.mark.parametrize("sizes", [[12], [6, 3], [3, 4, 5]])
def test_all_three_modes_agree(sizes: list[int], anchored: bool) -> None:
    mechanism = build(
        {
            "mechanism": "metric-l1",
            "epsilon": 1.0,
            "domain": {"kind": "grid", "sizes": sizes},
            "options": {"anchored": anchored},
        }
    )
    assert isinstance(mechanism, MetricL1Signs)
    generator = np.random.default_rng(3)
    cells = np.stack([generator.integers(0, size, 20_000) for size in sizes], axis=1)
    reports = mechanism.perturb(cells[:, 0] if len(sizes) == 1 else cells, seeded(4))
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), reports))
    ends = np.sort(generator.integers(0, sizes, (30, 2, len(sizes))), axis=1)
    low, high = ends[:, 0], ends[:, 1]
    value, stderr, *_ = estimate.ranges(low, high)
    np.testing.assert_allclose(SingleFrequencies(estimate.estimate).ranges(low, high), value, atol=1e-12)
    kept = KeptReports(mechanism, reports["bits"]).ranges(low, high)
    np.testing.assert_allclose(kept.value, value, atol=1e-12)
    np.testing.assert_allclose(kept.stderr, stderr, rtol=0.1, atol=1e-7)
