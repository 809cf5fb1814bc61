"""Which release this is."""

from importlib.metadata import PackageNotFoundError, version

UNKNOWN = "unknown"  # of a checkout that was never installed


def release() -> str:
    """The version of the installed package."""
    try:
        return version("hearsay-ldp")
    except PackageNotFoundError:
        return UNKNOWN
