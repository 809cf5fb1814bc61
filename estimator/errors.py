"""Errors of the estimator. One line each; a question that cannot be answered is a `mechanisms.errors.QueryError`."""


class EstimatorError(Exception):
    """Base of every error that the estimator raises."""


class SnapshotError(EstimatorError):
    """A directory is missing, is not a snapshot, or was written by a newer version."""


class ServeError(EstimatorError):
    """The metrics and the interface cannot be served at the address asked for."""
