"""What is published between rounds, and what a device accepts."""

import numpy as np
import pytest

from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.key_value.privkvm import PrivKVM
from hearsay.mechanisms.key_value.rounds import SCALE, at_most, draw_plus, hand_out, published, read
from tests.mechanisms.key_value.people import ONE_IN_A_MILLION, domain, people


@pytest.mark.parametrize(
    "parameters",
    [
        {"signs": "+-"},
        {"signs": "+-0"},
        {"signs": [1, -1, 1]},
        {"means": [0, 0]},
        {"means": [0, 0, SCALE + 1]},
        {"means": [0, 0, 0.5]},
        {"means": [0, 0, True]},
        {"means": [0, 0, 0], "signs": "+++"},
        {"budget": 3},
        {},
    ],
)
def test_a_device_refuses_what_is_no_sign_and_no_mean(parameters: dict) -> None:
    mechanism = PrivKVM.create(1.0, domain(3), {"rounds": 2}).in_round([parameters])
    with pytest.raises(SpecificationError, match="round"):
        mechanism.perturb(people([0.5] * 3, [0.0] * 3, 10), seeded(1))


def test_a_round_beyond_the_last_is_refused() -> None:
    with pytest.raises(SpecificationError, match="round must be at most 2, got 3"):
        PrivKVM.create(1.0, domain(3), {"rounds": 2}).in_round([{"signs": "+++"}] * 2)


def test_signs_are_drawn_afresh_with_the_published_means() -> None:
    parameters = published(np.array([-1.0, -0.5, 0.25, 1.0, np.nan, 7.0]))
    assert parameters == {"means": [-SCALE, -SCALE // 2, SCALE // 4, SCALE, 0, SCALE]}
    assert hand_out(parameters, "means", seeded(1)) == parameters
    random = seeded(2)
    drawn = [hand_out(parameters, "draws", random)["signs"] for _ in range(4_000)]
    means = np.array([[1 if sign == "+" else -1 for sign in signs] for signs in drawn]).mean(axis=0)
    assert means[0] == -1
    assert means[3] == means[5] == 1
    assert (np.abs(means[[1, 2, 4]] - [-0.5, 0.25, 0.0]) < ONE_IN_A_MILLION / np.sqrt(4_000)).all()
    assert len(set(drawn)) == 8
    plus = draw_plus(read({"signs": drawn[0]}, 6), np.arange(6), seeded(3))
    assert "".join(np.where(plus, "+", "-")) == drawn[0]


def test_reports_do_not_depend_on_who_draws_the_signs() -> None:
    """A device with signs and one with means report with the same law: here, non-holders of a key with mean 0.5."""
    mechanism = PrivKVM.create(3.0, domain(1), {"rounds": 2})
    nobody = people([0.0], [0.0], 20_000)
    parameters = published(np.array([0.5]))
    by_means = mechanism.in_round([parameters]).perturb(nobody, seeded(1))["symbol"].mean()
    random = seeded(4)
    one = nobody[:1]
    by_signs = np.mean(
        [
            mechanism.in_round([hand_out(parameters, "draws", random)]).perturb(one, random)["symbol"][0]
            for _ in range(4_000)
        ]
    )
    assert abs(by_means - by_signs) < ONE_IN_A_MILLION * 0.5 * np.sqrt(1 / 20_000 + 1 / 4_000)


def test_budgets_are_rounded_down() -> None:
    from fractions import Fraction

    for parts in range(1, 50):
        assert Fraction(at_most(Fraction(1, parts))) <= Fraction(1, parts)
        assert at_most(Fraction(1, parts)) == pytest.approx(1 / parts)
