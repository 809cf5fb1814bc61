"""The region of unavoidable errors, and that the binary mechanism reaches it."""

from math import exp, inf

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.guarantees.guessing import Errors, achieved, boundary, possible, unavoidable

PAIRS = [(1.0, 1.0), (0.3, 2.0), (inf, 0.7), (0.7, inf), (inf, inf)]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_corner_lies_on_both_lines(first: float, second: float) -> None:
    alarm, miss = unavoidable(first, second)
    if first < inf:
        assert exp(first) * alarm + miss == pytest.approx(1)
    else:
        assert alarm == 0
    if second < inf:
        assert alarm + exp(second) * miss == pytest.approx(1)
    else:
        assert miss == 0
    assert all(possible(errors, first, second) for errors in boundary(first, second))


@pytest.mark.parametrize(("first", "second"), PAIRS[:4])
def test_less_error_is_impossible(first: float, second: float) -> None:
    alarm, miss = unavoidable(first, second)
    assert not possible(Errors(alarm - 0.01, miss), first, second) or alarm == 0
    assert not possible(Errors(alarm, miss - 0.01), first, second) or miss == 0
    assert not possible(Errors(alarm * 0.9, miss * 0.9), first, second)


@pytest.mark.parametrize(("first", "second"), [(1.0, 1.0), (0.3, 2.0), ("inf", 0.7), (0.7, "inf")])
def test_the_optimal_binary_mechanism_reaches_the_whole_region(first: float | str, second: float | str) -> None:
    options = {"epsilon_12": first, "epsilon_21": second}
    channel = build({"mechanism": "binary", "epsilon": 1.0, "domain": {"kind": "binary"}, "options": options}).channel()
    reached = achieved(channel[0], channel[1])
    np.testing.assert_allclose(reached, boundary(float(first), float(second)), atol=1e-12)


def test_no_test_of_another_channel_leaves_the_region() -> None:
    channel = build({"mechanism": "ss", "epsilon": 0.8, "domain": {"kind": "categorical", "size": 7}}).channel()
    assert all(possible(errors, 0.8, 0.8) for errors in achieved(channel[2], channel[5]))


def test_without_any_loss_the_errors_sum_to_one() -> None:
    assert sum(unavoidable(0.0, 0.0)) == 1.0
