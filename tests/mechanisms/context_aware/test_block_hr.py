"""Block-structured Hadamard response beyond the shared suite."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.context_aware.block_hr import BlockHadamardResponse
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.randomness import seeded


def blocks(size: int, given: Any, epsilon: float = 1.0) -> BlockHadamardResponse:
    domain = {"kind": "categorical", "size": size, "blocks": given}
    mechanism = build({"mechanism": "block-hr", "epsilon": epsilon, "domain": domain})
    assert isinstance(mechanism, BlockHadamardResponse)
    return mechanism


def test_the_blocks_share_is_known_exactly_and_its_cells_sum_to_it_in_expectation() -> None:
    mechanism = blocks(9, [[0, 4, 8], [1, 2], [3, 5, 6, 7]])
    channel = mechanism.channel()
    for number, block in enumerate(mechanism.blocks):
        inside = slice(mechanism.starts[number], mechanism.starts[number + 1])
        np.testing.assert_allclose(channel[list(block), inside].sum(axis=1), 1.0)


def test_a_value_alone_in_its_block_is_counted_without_error() -> None:
    mechanism = blocks(6, [[5], [0, 1, 2], [3], [4]])
    cells = np.array([5] * 30 + [0] * 50 + [3] * 20)
    result = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(1))))
    assert result.estimate[[5, 3, 4]].tolist() == [0.3, 0.2, 0.0]
    assert result.stderr[[5, 3, 4]].tolist() == [0.0, 0.0, 0.0]
    assert (result.stderr[[0, 1, 2]] > 0).all()
    assert "3 blocks have a single value" in mechanism.guarantee.words()


def test_one_block_is_plain_hadamard_response() -> None:
    plain = build({"mechanism": "hr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 6}})
    np.testing.assert_array_equal(blocks(6, 6).channel(), plain.channel())


@pytest.mark.parametrize("count", [2, 10, 50])
def test_more_blocks_less_error(count: int) -> None:
    few, many = blocks(1000, 1000), blocks(1000, 1000 // count)
    ratio = few.predicted_stderr(1000)["point"] / many.predicted_stderr(1000)["point"]
    assert ratio == pytest.approx(np.sqrt(count), rel=0.01)


def test_variance_is_the_stated_one() -> None:
    mechanism = blocks(12, 4)
    cells = np.repeat([0, 1, 5, 11], [400, 100, 300, 200])
    state = mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(2)))
    result = mechanism.estimate(state)
    c, share = np.tanh(0.5), np.repeat([0.5, 0.3, 0.2], 4)
    held = np.clip(result.estimate, 0, share)
    np.testing.assert_allclose(result.stderr, np.sqrt((share - c**2 * held) / (1000 * c**2)), rtol=1e-9)


def test_blocks_are_needed() -> None:
    with pytest.raises(SpecificationError, match=r"domain\.blocks is missing"):
        build({"mechanism": "block-hr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 6}})


def test_words_say_what_is_and_what_is_not_protected() -> None:
    words = blocks(9, 3, epsilon=0.5).guarantee.words()
    assert "which value of its block a device holds is protected" in words
    assert "Which of the 3 blocks (3 values each) it belongs to is NOT protected" in words
