"""High-low Hadamard response beyond the shared suite."""

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.context_aware.highlow_hr import HighLowHadamardResponse
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.randomness import seeded


def highlow(size: int, sensitive: list[int], epsilon: float = 1.0) -> HighLowHadamardResponse:
    domain = {"kind": "categorical", "size": size, "sensitive": sensitive}
    mechanism = build({"mechanism": "highlow-hr", "epsilon": epsilon, "domain": domain})
    assert isinstance(mechanism, HighLowHadamardResponse)
    return mechanism


def test_channel_is_the_papers() -> None:
    e = np.exp(1.0)
    channel = highlow(5, [1, 3]).channel()
    high, low, own = 2 * e / (4 * (e + 1)), 2 / (4 * (e + 1)), (e - 1) / (e + 1)
    np.testing.assert_allclose(channel[1], [high, low, high, low, 0, 0, 0], rtol=1e-15)
    np.testing.assert_allclose(channel[3], [high, high, low, low, 0, 0, 0], rtol=1e-15)
    np.testing.assert_allclose(channel[0], [low] * 4 + [own, 0, 0], rtol=1e-15)
    np.testing.assert_allclose(channel[4], [low] * 4 + [0, 0, own], rtol=1e-15)


def test_open_values_cost_far_less_error_than_sensitive_ones() -> None:
    mechanism = highlow(100, [0, 1])
    cells = np.random.default_rng(1).integers(0, 100, 20_000)
    result = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(1))))
    assert result.stderr[2:].max() < 0.2 * result.stderr[:2].min()


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0, 10.0])
@pytest.mark.parametrize("sensitive", [[2], [0, 1, 2, 3, 4]])
def test_one_or_all_sensitive_values_keep_the_claim(epsilon: float, sensitive: list[int]) -> None:
    mechanism = highlow(5, sensitive, epsilon)
    assert epsilon * (1 - 1e-9) < mechanism.spent_epsilon <= epsilon


def test_sensitive_values_are_needed() -> None:
    with pytest.raises(SpecificationError, match=r"domain\.sensitive is missing"):
        build({"mechanism": "highlow-hr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 6}})


def test_words_name_the_sensitive_values() -> None:
    domain = {"kind": "categorical", "categories": ["flu", "hiv", "none"], "sensitive": ["hiv"]}
    words = build({"mechanism": "highlow-hr", "epsilon": 1.0, "domain": domain}).guarantee.words()
    assert "holding a sensitive value (hiv) is protected" in words
    assert "The other values are NOT protected" in words
    assert "and 4 more" in highlow(20, list(range(12))).guarantee.words()
