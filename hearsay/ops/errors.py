"""Errors of the command line, one line each for the person at the terminal; exit code 2 unless a class says another."""

from hearsay.errors import HearsayError


class OperationError(HearsayError):
    """Base of every error that ops raises: bad input or a missing piece of the environment."""

    CODE = "operation"


class ConfigurationError(OperationError):
    """A setting is not allowed; the message names it, what is allowed and what was got (never a secret)."""

    CODE = "configuration"


class EmbeddedServerError(OperationError):
    """No server binary was found, or the embedded server did not start."""

    CODE = "embedded-server"


class CheckFailed(HearsayError):
    """A check (audit, experiment, bench, demo, chaos) ran to its end and something was wrong: exit code 1."""

    CODE = "check-failed"
