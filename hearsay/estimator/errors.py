"""Errors of the estimator; each message is one line. A query that cannot be answered raises `QueryError` instead."""

from hearsay.errors import HearsayError


class EstimatorError(HearsayError):
    """Base of every error that the estimator raises."""

    CODE = "estimator"


class SnapshotError(EstimatorError):
    """A snapshot cannot be used: missing, damaged, withheld (too few reports), or written by a newer version.

    >>> from hearsay import load_snapshot
    >>> try:
    ...     load_snapshot("nowhere")
    ... except SnapshotError as error:
    ...     error.code
    'snapshot'
    """

    CODE = "snapshot"
