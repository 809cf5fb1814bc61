"""Reports that are not folded yet, shown beside answers: "no reports yet" alone would be half of the truth."""

from hearsay.mechanisms.errors import QueryError


def with_waiting(refusal: QueryError, waiting: int) -> QueryError:
    """A refusal for want of reports, with the number of those that wait."""
    if not waiting:
        return refusal
    words = f"{refusal}; {waiting:,} reports are waiting to be folded (see hearsay status)"
    return QueryError(words, **refusal.fields)
