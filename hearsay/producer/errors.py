"""Errors of the device side. A device's value is never part of a message."""

from hearsay.errors import HearsayError


class ProducerError(HearsayError):
    """Base of every error that the producer raises."""

    CODE = "producer"


class ValuesError(ProducerError):
    """A file of values cannot be used. The message names file, line, column and what is allowed, never the value."""

    CODE = "values"


class GatewayError(ProducerError):
    """A gateway that cannot be used: it does not answer, has no such survey, or the URL is none."""

    CODE = "gateway"


class FormError(ProducerError):
    """A gateway's form for devices that cannot be followed: of another version, damaged, or missing."""

    CODE = "form"


class DistributionError(ProducerError):
    """A simulated population that does not exist, or does not fit the domain."""

    CODE = "distribution"


class LedgerError(ProducerError):
    """A ledger that cannot be used, or none where one is needed, or an outbox that is full."""

    CODE = "ledger"


class BudgetSpent(ProducerError):
    """A device may not report now: its life, the window or the survey is spent. Nothing was drawn.

    >>> from tempfile import TemporaryDirectory
    >>> from hearsay import Device
    >>> likes = {"name": "likes", "mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "binary"}}
    >>> with TemporaryDirectory() as folder:
    ...     device = Device(likes, ledger=f"{folder}/device.db")
    ...     report = device.report(1)
    ...     try:
    ...         device.report(1)
    ...     except BudgetSpent as error:
    ...         error.code, device.spent()
    ('budget-spent', 1.0)
    """

    CODE = "budget-spent"


class RepeatedReports(UserWarning):
    """A device without a ledger reports again in one window: each report spends epsilon."""
