"""Intervals of ratios."""

import numpy as np

from hearsay.mechanisms.key_value.fieller import Ratio


def interval(share: float, total: float, vf: float, vs: float, cov: float = 0.0) -> tuple[float, float]:
    low, high = Ratio(*(np.array([part]) for part in (share, total, vf, vs, cov))).interval()
    return float(low[0]), float(high[0])


def inside(m: float, share: float, total: float, vf: float, vs: float, cov: float) -> bool:
    return (total - m * share) ** 2 <= 1.96**2 * (vs - 2 * m * cov + m * m * vf)


def test_the_interval_holds_exactly_what_the_data_do_not_contradict() -> None:
    generator = np.random.default_rng(1)
    grid = np.linspace(-1, 1, 4001)
    for _ in range(300):
        share, mean = generator.uniform(0.01, 1), generator.uniform(-1, 1)
        vf, vs = generator.uniform(1e-5, 0.02, 2)
        cov = generator.uniform(-0.9, 0.9) * np.sqrt(vf * vs)
        total = share * mean + generator.normal(0, np.sqrt(vs))
        low, high = interval(share, total, vf, vs, cov)
        accepted = np.array([inside(m, share, total, vf, vs, cov) for m in grid])
        assert -1 <= low <= high <= 1
        if accepted.any():  # the interval is the hull of what is accepted
            assert low <= grid[accepted][0] + 1e-9
            assert high >= grid[accepted][-1] - 1e-9
            assert low >= grid[accepted][0] - 6e-4
            assert high <= grid[accepted][-1] + 6e-4


def test_a_share_that_may_be_zero_leaves_the_whole_domain() -> None:
    assert interval(0.001, 0.0005, 0.01, 0.01) == (-1.0, 1.0)
    assert interval(float("nan"), float("nan"), float("inf"), float("inf")) == (-1.0, 1.0)


def test_a_certain_share_gives_the_usual_interval() -> None:
    low, high = interval(0.5, 0.1, 0.0, 1e-4)
    np.testing.assert_allclose([low, high], [0.2 - 1.96 * 0.02, 0.2 + 1.96 * 0.02])


def test_the_mean_is_unknown_where_no_share_was_found() -> None:
    ratio = Ratio(*(np.array([part]) for part in (-0.1, 0.2, 0.01, 0.01, 0.0)))
    assert np.isnan(ratio.mean()[0])
    assert np.isnan(ratio.stderr()[0])
