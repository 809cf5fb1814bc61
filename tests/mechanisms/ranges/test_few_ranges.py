"""A few ranges of a tree are bounded without the table of all pairs of cuts, and levels without eigenvectors."""

import numpy as np
import pytest

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.planning.drawn_states import play
from hearsay.mechanisms.ranges.hierarchical.crown import inverse_at_known_total, well_known_inverse
from hearsay.mechanisms.ranges.hierarchical.line import RangeEstimate


@pytest.mark.parametrize("size", [5, 37, 64, 1000])
def test_one_range_alone_has_the_sensitivity_of_many(size: int) -> None:
    domain = catalogue.parse_domain({"kind": "ordinal", "size": size})
    mechanism = catalogue.create("hierarchical", 1.0, domain, {})
    people = domain.simulated("normal", 2_000, np.random.default_rng(1))
    _, state = play(mechanism, people, np.random.default_rng(2))
    estimate = mechanism.estimate(state)
    assert isinstance(estimate, RangeEstimate)
    ends = np.sort(np.random.default_rng(3).integers(0, size + 1, (40, 2)), axis=1)
    first, stop = ends[ends[:, 0] < ends[:, 1]].T
    together = estimate.uncertainty.sensitivity(first, stop)
    alone = [
        estimate.uncertainty.sensitivity(first[index : index + 1], stop[index : index + 1])[0]
        for index in range(first.size)
    ]
    assert alone == pytest.approx(together, rel=1e-6, abs=1e-12)


def test_the_quick_inverse_is_the_careful_one() -> None:
    generator = np.random.default_rng(4)
    design = (generator.random((60, 20)) < 0.3).astype(np.float64)
    information = np.diag(generator.random(20) + 0.1) + design.T @ design
    careful, _ = inverse_at_known_total(information)
    assert well_known_inverse(information) == pytest.approx(careful, abs=1e-12)


def test_what_is_hardly_known_is_inverted_with_care() -> None:
    known = np.diag([1.0, 1.0, 0.0, 0.0])
    careful, _ = inverse_at_known_total(known)
    assert well_known_inverse(known) == pytest.approx(careful, abs=1e-12)
