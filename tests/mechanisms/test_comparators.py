"""RAPPOR, the count-mean sketch and SHist: what is published about them, and the floors that fixed hashes leave."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.public_hash import coefficients, hashed
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.oracles.rappor import RAPPOR
from hearsay.mechanisms.oracles.shist import sign_bits

SKETCHES: dict[str, dict[str, Any]] = {
    "count-mean-sketch": {"hashes": 4, "width": 16},
    "shist": {"rows": 64},
}
HASHED = [[8, 31, 16, 26], [19, 50, 51, 22]]
SIGNS = [[1, 0, 1, 0, 1, 1, 1, 1], [0, 1, 1, 0, 0, 0, 1, 0], [1, 0, 1, 0, 0, 1, 0, 0]]


def made(name: str, size: int, epsilon: float = 2.0, **options: Any) -> Mechanism:
    domain = {"kind": "categorical", "size": size}
    return build({"mechanism": name, "epsilon": epsilon, "domain": domain, "options": options})


@pytest.mark.parametrize("name", list(SKETCHES))
def test_over_many_choices_of_hashes_the_estimate_is_unbiased_with_the_stated_error(name: str) -> None:
    cells = np.minimum(np.random.default_rng(1).geometric(0.35, 3000) - 1, 9)
    truth = np.bincount(cells, minlength=10) / 3000
    errors, stated = [], []
    for seed in range(1500):
        mechanism = made(name, 10, seed=seed, **SKETCHES[name])
        result = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(seed))))
        errors.append(result.estimate - truth)
        stated.append(result.stderr**2)
    table = np.array(errors)
    assert (np.abs(table.mean(axis=0)) < 5.5 * table.std(axis=0) / np.sqrt(len(table))).all()
    assert (table**2).mean() / np.mean(stated) == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("name", list(SKETCHES))
def test_more_reports_do_not_remove_the_floor(name: str) -> None:
    mechanism = made(name, 10, 5.0, **SKETCHES[name])
    assert mechanism.ERROR_FLOOR
    few, many = (mechanism.predicted_stderr(n)["point"] for n in (10**6, 10**12))
    assert many > 0.5 * few
    cells = np.repeat([0, 1, 2], [250_000, 150_000, 100_000])
    truth = np.bincount(cells, minlength=10) / len(cells)
    result = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(1))))
    error = np.sqrt(((result.estimate - truth) ** 2).mean())
    assert error > 5 * np.sqrt(1 / len(cells))


def test_a_sketchs_width_is_a_power_of_two() -> None:
    with pytest.raises(SpecificationError, match=r"options\.width must be a power of two, got 100"):
        made("count-mean-sketch", 10, width=100)


def test_public_hashes_never_change() -> None:
    """Devices in the field have these in their code: another value here breaks every survey that runs."""
    assert hashed(coefficients(7, 2)[:, None, :], np.arange(4, dtype=np.uint64), 64).tolist() == HASHED
    assert sign_bits(7, np.arange(3)[:, None], np.arange(8)[None, :]).tolist() == SIGNS


def test_pairs_of_values_collide_as_seldom_as_they_should() -> None:
    buckets = hashed(coefficients(3, 4000)[:, None, :], np.arange(6, dtype=np.uint64), 16)
    for one in range(6):
        for other in range(one):
            share = (buckets[:, one] == buckets[:, other]).mean()
            assert abs(share - 1 / 16) < 5.5 * np.sqrt(1 / 16 * 15 / 16 / 4000)


@pytest.mark.parametrize("hashes", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.3])
def test_rappor_spends_no_more_than_claimed_for_any_number_of_hashes(hashes: int, epsilon: float) -> None:
    mechanism = made("rappor", 4, epsilon, hashes=hashes)
    assert epsilon * (1 - 1e-9) < mechanism.spent_epsilon <= epsilon


def test_rappor_needs_enough_bits_to_tell_the_candidates_apart() -> None:
    with pytest.raises(SpecificationError, match="too few to tell 40 values apart"):
        made("rappor", 40, bits=8, cohorts=2)
    with pytest.raises(SpecificationError, match="at most 2048 cells for rappor"):
        made("rappor", 5000)


def test_rappor_with_one_hash_and_cohort_is_symmetric_unary_encoding_of_buckets() -> None:
    mechanism = made("rappor", 3, 1.0, bits=64, hashes=1, cohorts=1)
    assert isinstance(mechanism, RAPPOR)
    plain = build({"mechanism": "sue", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 3}})
    assert mechanism.flip + plain.thresholds[0] == 2**64  # type: ignore[attr-defined]
    assert mechanism.predicted_stderr(100)["point"] == pytest.approx(plain.predicted_stderr(100)["point"], rel=1e-9)


def test_rappor_decodes_a_survey_of_the_papers_size() -> None:
    mechanism = made("rappor", 100, 3.0)
    cells = np.minimum(np.random.default_rng(4).geometric(0.1, 100_000) - 1, 99)
    truth = np.bincount(cells, minlength=100) / 100_000
    result = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(5))))
    score = (result.estimate - truth) / result.stderr
    assert np.abs(score).max() < 5.5
    assert score.std() == pytest.approx(1.0, abs=0.35)


def test_rappor_says_nothing_about_values_that_its_cohorts_do_not_tell_apart() -> None:
    """A report is in one cohort of four, whose 8 bits cannot tell 20 values apart; all four can."""
    mechanism = made("rappor", 20, bits=8, cohorts=4)
    one = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(np.array([3]), seeded(1))))
    found = one.points(np.arange(20))
    assert np.isinf(found.stderr).any()
    low, high = found.ends()
    assert ((low == 0) & (high == 1))[np.isinf(found.stderr)].all()
    many = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(np.full(200, 3), seeded(1))))
    assert np.isfinite(many.points(np.arange(20)).stderr).all()


def test_rappor_s_interval_of_a_single_report_holds() -> None:
    """In 93% of surveys without half a bit's step, in nearly all with it; 970 of 1,000 tell which."""
    mechanism, held = made("rappor", 2, 4.0), 0
    for seed in range(1_000):
        state = mechanism.fold(mechanism.empty(), mechanism.perturb(np.array([0]), seeded(seed)))
        low, high = mechanism.estimate(state).points(np.array([1])).ends()
        held += bool(low[0] <= 0 <= high[0])
    assert held >= 970
