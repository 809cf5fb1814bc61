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


class ValueRefused(ProducerError):
    """A device that follows a form was given a value outside the domain; the message never shows the value."""

    CODE = "value-refused"


class DistributionError(ProducerError):
    """A simulated population that does not exist, or does not fit the domain."""

    CODE = "distribution"
