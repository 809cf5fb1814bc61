"""Epsilon from a width, in few tries."""

from collections.abc import Callable
from math import inf, sinh, sqrt

import pytest

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.planning.asked import Asked
from hearsay.mechanisms.planning.curves import EPSILONS, curve, sketch
from hearsay.mechanisms.planning.plan import Target, plan
from hearsay.mechanisms.planning.solve import EPSILON_HIGH, USERS_HIGH, epsilon_for, users_for


class Counted:
    """A curve that counts how often it is asked."""

    def __init__(self, curve: Callable[[float], float]) -> None:
        self.curve, self.tries = curve, list[float]()

    def __call__(self, epsilon: float) -> float:
        self.tries.append(epsilon)
        return self.curve(epsilon)


@pytest.mark.parametrize("epsilon", [0.02, 0.3, 1.0, 3.0, 9.5])
@pytest.mark.parametrize("floor", [0.0, 0.3])  # what a mechanism that samples keeps however large epsilon is
def test_the_epsilon_of_a_width_is_found_in_few_tries(epsilon: float, floor: float) -> None:
    width = Counted(lambda at: floor + 1 / sinh(at / 2))
    within = width.curve(epsilon)
    found = epsilon_for(width, within)
    assert found in width.tries  # so that nothing is built for it alone
    assert found == float(f"{found:.4g}")  # no digits that mean nothing
    assert width.curve(found or inf) == pytest.approx(within, rel=0.01)
    assert len(width.tries) <= (2 if floor == 0 else 8)


def test_no_epsilon_is_given_only_after_the_largest_was_tried() -> None:
    width = Counted(lambda at: 1 + 1 / sinh(at / 2))
    assert epsilon_for(width, 0.99) is None
    assert EPSILON_HIGH in width.tries


@pytest.mark.parametrize("users", [1, 2, 50, 10_000, 123_456_789, USERS_HIGH])
def test_the_users_of_a_width_are_found_in_few_tries(users: int) -> None:
    width = Counted(lambda at: 3 / sqrt(at))
    assert users_for(width, 3 / sqrt(users) * (1 + 1e-12)) == pytest.approx(users, rel=0.004)
    assert len(width.tries) <= 3


@pytest.mark.parametrize("floor", [0.0, 0.3, inf])  # what however many users leave
def test_that_no_number_of_users_is_enough_is_known_after_two_tries(floor: float) -> None:
    """A try may play millions of reports."""
    width = Counted(lambda at: floor + 3 / sqrt(at))
    assert users_for(width, 1e-9) is None
    assert width.tries == [10_000, USERS_HIGH]


def test_users_of_steps_are_the_first_that_are_enough() -> None:
    assert users_for(lambda at: 2.0 if at < 1_000 else 1.0, 1.5) == pytest.approx(1_000, rel=0.01)
    assert users_for(lambda at: inf if at < 10**9 else 0.0, 1.5) == pytest.approx(10**9, rel=0.01)
    assert users_for(lambda at: 0.0, 1.5) == 1


def test_steps_and_epsilons_that_are_not_taken_do_no_harm() -> None:
    assert epsilon_for(lambda at: 3.0 if at < 2 else 1.0, 1.5) == pytest.approx(2, rel=0.01)
    assert epsilon_for(lambda at: inf if at < 4 else 4 / at, 0.8) == pytest.approx(5, rel=0.01)
    assert epsilon_for(lambda at: inf, 0.8) is None


def test_a_tree_is_optimised_for_few_epsilons_only() -> None:
    domain = catalogue.parse_domain({"kind": "ordinal", "size": 128})
    asked = Asked.of(domain, "range 20 60", ["hierarchical"])
    (row,) = plan(asked, Target(users=20_000, within=0.02))
    optimised = [epsilon for _, epsilon, rough in asked._built if not rough]
    assert row.epsilon in optimised
    assert len(optimised) <= 3
    assert row.within == pytest.approx(0.02, rel=0.01)


def test_a_sketch_is_near_the_curve_and_builds_no_optimised_tree() -> None:
    domain = catalogue.parse_domain({"kind": "ordinal", "size": 64})
    asked = Asked.of(domain, "range 20 40", ["haar", "hierarchical"])
    exact = asked.widths("haar", 2.0).expected("normal", 5_000)
    points = sketch(asked, "haar", 5_000, "normal", (2.0, exact))
    assert tuple(epsilon for epsilon, _ in points) == EPSILONS[::2]
    for point, wanted in zip(points, curve(asked, "haar", 5_000, "normal", 10.0)[::2], strict=True):
        assert point == pytest.approx(wanted, rel=0.03)
    assert len(sketch(asked, "hierarchical", 5_000, "normal", (2.0, 0.05))) == len(EPSILONS[::2])
    assert {rough for name, _, rough in asked._built if name == "hierarchical"} == {True}
