"""The most frequent values, where some have equal shares."""

import numpy as np

from hearsay.mechanisms.queries.cells import _largest


def test_equal_shares_are_in_domain_order_whatever_their_last_digits() -> None:
    shares = np.array([0.1, 0.25, np.nextafter(0.25, 1), 0.3, 0.25])
    assert _largest(shares, 3).tolist() == [3, 1, 2]
    assert _largest(shares, 9).tolist() == [3, 1, 2, 4, 0]
