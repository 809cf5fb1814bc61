"""Errors of the people's side: each is one line for the person at the terminal, and exit code 2."""


class OperationError(Exception):
    """Base of every error that ops raises: bad input or a missing piece of the environment."""


class ConfigurationError(OperationError):
    """A setting is not allowed; the message names it, what is allowed and what was got (never a secret)."""


class EmbeddedServerError(OperationError):
    """No server binary was found, or the embedded server did not start."""


class CheckFailed(Exception):
    """A check (audit, experiment, bench, demo, chaos) ran to its end and found something wrong: exit code 1."""
