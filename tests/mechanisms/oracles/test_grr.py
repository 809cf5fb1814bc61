"""Generalised randomised response beyond the shared suite."""

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import seeded


def test_two_values_are_warners_randomised_response() -> None:
    mechanism = build({"mechanism": "grr", "epsilon": np.log(3), "domain": {"kind": "binary"}})
    np.testing.assert_allclose(mechanism.channel(), [[0.75, 0.25], [0.25, 0.75]], atol=1e-15)


@pytest.mark.parametrize(("size", "kind"), [(256, np.uint8), (257, np.uint16), (70_000, np.uint32)])
def test_reports_take_the_narrowest_type(size: int, kind: type) -> None:
    mechanism = build({"mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": size}})
    reports = mechanism.perturb(np.full(1000, size - 1), seeded(1))
    assert reports["value"].dtype == kind
    assert int(reports["value"].max()) < size


def test_an_empty_batch_is_an_empty_report() -> None:
    mechanism = build({"mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 4}})
    state = mechanism.fold(mechanism.empty(), mechanism.perturb(np.array([], dtype=np.int64), seeded(1)))
    assert mechanism.reports(state) == 0
