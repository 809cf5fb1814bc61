"""Errors of the estimator. One line each; a question that cannot be answered is the mechanisms' `QueryError`."""


class EstimatorError(Exception):
    """Base of every error that the estimator raises."""


class SnapshotError(EstimatorError):
    """A directory is missing, is not a snapshot, or was written by a newer version."""
