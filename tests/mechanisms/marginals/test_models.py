"""Models of marginals: maximum entropy, views that cover all pairs, and expectation maximisation."""

from itertools import combinations

import numpy as np
import pytest

from hearsay.mechanisms.errors import QueryError, SpecificationError
from hearsay.mechanisms.marginals.analyses.maxent import fit, most_even
from hearsay.mechanisms.marginals.methods.calm import Calm
from hearsay.mechanisms.marginals.methods.design import ORDERS, plane_order, views
from hearsay.mechanisms.marginals.methods.em import TOLERANCE, decode
from hearsay.mechanisms.marginals.methods.inp_em import InpEM
from hearsay.mechanisms.marginals.methods.inp_ht import InpHT
from hearsay.mechanisms.marginals.methods.marg_views import MargRR
from tests.mechanisms.marginals.shared import Surveys, each_report, expected_state, make, summed, uneven


@pytest.mark.parametrize("attributes", [2, 3, 4, 5, 8, 9, 12, 16, 20, 25, 40, 49])
def test_any_two_attributes_lie_in_exactly_one_view(attributes: int) -> None:
    found = views(attributes)
    times = {pair: sum(set(pair) <= set(view) for view in found) for pair in combinations(range(attributes), 2)}
    assert set(times.values()) == {1}


def test_the_plane_of_order_four_has_twenty_lines_of_four() -> None:
    assert plane_order(16) == 4
    assert len(views(16)) == 20
    assert {len(view) for view in views(16)} == {4}
    with pytest.raises(SpecificationError, match="at most 49 attributes"):
        plane_order(ORDERS[-1] ** 2 + 1)


def test_maximum_entropy_of_main_effects_is_independence() -> None:
    digits = np.array(list(np.ndindex(2, 2, 2)))
    signs = 1.0 - 2.0 * digits
    theta = np.array([0.4, -0.2, 0.1])
    shares = most_even(signs, theta, np.full(3, 1e-9))
    expected = np.prod((1 + signs * theta) / 2, axis=1)
    np.testing.assert_allclose(shares, expected, atol=1e-6)


def test_maximum_entropy_keeps_measured_pairs_and_adds_no_interaction_of_three() -> None:
    """From exact pairs of a chain a - b - c the model is the chain."""
    first = np.array([0.3, 0.7])
    copy = np.array([[0.8, 0.2], [0.25, 0.75]])
    shares = (first[:, None, None] * copy[:, :, None] * copy[None, :, :]).reshape(-1)
    mechanism = make(InpHT, (2, 2, 2), 2, 1.1)
    state = expected_state(mechanism, shares, each_report(mechanism))
    table = fit(mechanism.estimate(state), (0, 1, 2))
    np.testing.assert_allclose(table.value, shares, atol=1e-5)
    assert "maximum entropy" in table.model
    assert np.isnan(table.stderr).all()


def test_impossible_measurements_still_give_a_probability_table() -> None:
    signs = 1.0 - 2.0 * np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    shares = most_even(signs, np.array([1.3, -1.2, 0.9]), np.full(3, 1e-3))
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1.0)


def test_models_have_a_largest_size() -> None:
    mechanism = make(InpHT, (2,) * 16, 2, 1.1)
    with pytest.raises(QueryError, match="at most 16384 cells"):
        fit(mechanism.estimate(mechanism.empty()), tuple(range(15)))


def test_views_give_characters_from_everything_that_holds_them() -> None:
    """Consistency: a character is pooled over all views with its attributes, so its variance is below a table's own."""
    shares = uneven((2,) * 4)
    estimate = Surveys(make(MargRR, (2,) * 4, 2, 1.1), shares, 1).estimate(50_000)
    alone = np.diag(estimate.table((0,)).covariance)[0]
    inside = estimate.table((0, 1))
    rows = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])
    assert alone < 0.5 * (rows @ inside.covariance @ rows.T)[0, 0]
    known = estimate.known((0, 1))
    assert sorted(int(mask) for part in known for mask in part.masks) == [1, 2, 3]


def test_calm_answers_what_no_view_holds_by_a_model() -> None:
    shares = uneven((2,) * 5, 4)
    estimate = Surveys(make(Calm, (2,) * 5, 3, 1.1), shares, 2).estimate(400_000)
    held = next(view for view in estimate.pooled.views.sets if len(view) == 3)
    assert estimate.table(held).model == ""
    free = next(c for c in combinations(range(5), 3) if not estimate.pooled.views.containing(c))
    table = estimate.table(free)
    assert "maximum entropy" in table.model
    assert table.value.sum() == pytest.approx(1.0)
    assert np.abs(table.value - summed(shares, (2,) * 5, free)).sum() / 2 < 0.1


def test_expectation_maximisation_finds_what_the_inverse_finds() -> None:
    channel = np.kron(*[np.array([[0.7, 0.3], [0.3, 0.7]])] * 2)
    shares = np.array([0.4, 0.1, 0.2, 0.3])
    found = decode((channel @ shares)[None], channel)
    np.testing.assert_allclose(found.shares[0], shares, atol=5e-3)
    assert not found.failed[0]


@pytest.mark.parametrize("away", [0.5, 2.0])
def test_it_stops_at_its_prior_exactly_where_nothing_moves(away: float) -> None:
    """iff max |Q y - 1/4| < tolerance."""
    channel = np.kron(*[np.array([[0.51, 0.49], [0.49, 0.51]])] * 2)
    direction = channel @ np.array([1.0, -1.0, -1.0, 1.0])
    observed = 0.25 + np.array([1.0, -1.0, -1.0, 1.0]) * away * TOLERANCE / np.abs(direction).max()
    found = decode(observed[None], channel)
    assert found.failed[0] == (away < 1)
    assert ("stopped at its prior" in found.words(0)) == (away < 1)


def test_the_decoder_is_chosen_by_an_option_and_says_what_it_is() -> None:
    shares = uneven((2,) * 3)
    mechanism = make(InpEM, (2,) * 3, 2, 4.0, decoder="em")
    table = Surveys(mechanism, shares, 2).estimate(300_000).table((0, 2))
    assert "biased" in table.model
    assert np.isnan(table.stderr).all()
    assert np.abs(table.value - summed(shares, (2,) * 3, (0, 2))).sum() / 2 < 0.1
    weak = make(InpEM, (2,) * 3, 2, 0.001, decoder="em")
    assert "stopped at its prior" in Surveys(weak, shares, 2).estimate(300_000).table((0, 2)).model
