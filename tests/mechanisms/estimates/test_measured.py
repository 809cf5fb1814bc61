"""A value never travels without its interval: `Measured` cannot be built without one, and what changes it keeps it."""

import numpy as np
import pytest

from hearsay.mechanisms.estimates.estimate import Measured

VALUE, STDERR = np.array([0.0, 0.5, 0.9]), np.array([0.1, 0.2, 0.3])
LOW, HIGH = VALUE - 0.7, VALUE + 0.1
OWN = Measured(VALUE, STDERR, LOW, HIGH)


def test_it_cannot_be_built_without_its_interval() -> None:
    with pytest.raises(TypeError, match="missing 2 required positional arguments: 'low' and 'high'"):
        Measured(VALUE, STDERR)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"use Measured\.plain"):
        Measured(VALUE, STDERR, None, None)  # type: ignore[arg-type]


def test_the_reason_for_having_none_is_stated() -> None:
    low, high = Measured.plain(VALUE, STDERR).ends()
    np.testing.assert_allclose(high - low, 2 * 1.96 * STDERR)
    assert all(np.isnan(end).all() for end in Measured.without_error(VALUE).ends())


def test_changes_keep_the_interval() -> None:
    np.testing.assert_array_equal(OWN.take([2, 0]).ends(), [LOW[[2, 0]], HIGH[[2, 0]]])
    np.testing.assert_array_equal(OWN.each(lambda column: column.reshape(3, 1)).ends()[1], HIGH[:, None])
    joined = Measured.join([Measured.plain(VALUE, STDERR), OWN])
    np.testing.assert_array_equal(joined.take(slice(3, None)).ends(), [LOW, HIGH])
    np.testing.assert_array_equal(joined.take(slice(3)).ends(), Measured.plain(VALUE, STDERR).ends())
