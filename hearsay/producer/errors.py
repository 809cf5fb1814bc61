"""Errors of the device side. A device's value is never part of a message."""


class ProducerError(Exception):
    """Base of every error that the producer raises."""


class ValuesError(ProducerError):
    """A file of values cannot be used: says where (file, line, column) and what is allowed, never what was there."""


class DistributionError(ProducerError):
    """A simulated population that does not exist, or does not fit the domain."""
