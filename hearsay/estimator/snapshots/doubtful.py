"""Estimating from a state that somebody else wrote: what no reports make has no estimate.

A snapshot's checksum says that its files fit together, not who made them. A count below zero, or above the reports,
leads estimators to roots of negative numbers and to empty sets; that is the snapshot's fault, and is said so.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from hearsay.estimator.errors import SnapshotError
from hearsay.mechanisms.errors import MechanismError


@contextmanager
def doubtful_state() -> Iterator[None]:
    """Inside, arithmetic that fails is a SnapshotError."""
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            yield
    except MechanismError:
        raise  # a question that has no answer
    except (ArithmeticError, ValueError, IndexError, np.linalg.LinAlgError):
        raise SnapshotError("snapshot cannot be estimated: its state is none that reports make") from None
