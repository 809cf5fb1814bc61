"""Errors of the estimator. One line each; a question that cannot be answered is the mechanisms' `QueryError`."""

from hearsay.errors import HearsayError


class EstimatorError(HearsayError):
    """Base of every error that the estimator raises."""

    CODE = "estimator"


class SnapshotError(EstimatorError):
    """A directory is missing, is not a snapshot, or was written by a newer version.

    >>> from hearsay import load_snapshot
    >>> try:
    ...     load_snapshot("nowhere")
    ... except SnapshotError as error:
    ...     error.code
    'snapshot'
    """

    CODE = "snapshot"
