"""Errors of the mathematics. Messages name the parameter, what is allowed and what was got; never a raw value."""

from hearsay.errors import HearsayError


class MechanismError(HearsayError, ValueError):
    """Base of every error that the mechanisms raise."""

    CODE = "mechanism"


class SpecificationError(MechanismError):
    """A survey asks for something that the mechanism, its domain or its options do not allow."""

    CODE = "specification"


class ValueOutsideDomain(MechanismError):
    """A device was given a value outside the survey's domain; the message never shows the value.

    Of many values, `position` says which one, and `column` in which column, where that is known.

    >>> from hearsay.mechanisms import build
    >>> mechanism = build({"mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 4}})
    >>> mechanism.domain.one(7)
    Traceback (most recent call last):
    hearsay.mechanisms.errors.ValueOutsideDomain: value must be an integer in 0..3
    """

    CODE = "value-outside-domain"

    def __init__(self, message: str, position: int | None = None, column: str | None = None) -> None:
        super().__init__(message)
        self.position, self.column = position, column


class QueryError(MechanismError):
    """A question that this estimate cannot answer: wrong kind, empty or reversed range, outside the domain."""

    CODE = "query"
