"""Which release this is."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version

UNKNOWN = "unknown"  # of a checkout that was never installed


@cache
def release() -> str:
    """The version of the installed package."""
    try:
        return version("hearsay-ldp")
    except PackageNotFoundError:
        return UNKNOWN
