"""The Laplace histogram: sensitive values are hidden better, others pay less."""

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import seeded


def survey(size: int, epsilon: float = 1.0, **domain: object):
    return build(
        {
            "mechanism": "laplace-histogram",
            "epsilon": epsilon,
            "domain": {"kind": "categorical", "size": size, **domain},
        }
    )


def test_total_error_on_the_lattice() -> None:
    assert np.trace(survey(100).covariance) == pytest.approx(783.5, rel=0.001)
    assert np.trace(survey(100, sensitive=[*range(10)]).covariance) == pytest.approx(568.1, rel=0.001)


def test_metric_follows_the_domain_and_is_written_out() -> None:
    assert survey(4).canonical_options()["metric"] == {"kind": "ldp"}
    assert survey(4, sensitive=[2]).canonical_options()["metric"] == {"kind": "sensitive"}
    assert "sensitive" in survey(4, sensitive=[2]).guarantee.words()


def test_values_that_are_not_sensitive_have_smaller_errors() -> None:
    mechanism = survey(20, sensitive=[0, 1])
    cells = np.random.default_rng(1).integers(0, 20, 100_000)
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(3))))
    assert estimate.stderr[:2].min() > 1.5 * estimate.stderr[2:].max()
    truth = np.bincount(cells, minlength=20) / cells.size
    assert (np.abs(estimate.estimate - truth) < 6 * estimate.stderr).all()
