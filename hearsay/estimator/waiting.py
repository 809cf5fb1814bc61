"""Reports that are not folded yet, shown beside answers: "no reports yet" alone would be half of the truth."""

from hearsay.collector.store.registry import Registered
from hearsay.collector.store.status import status
from hearsay.collector.store.totals import totals
from hearsay.collector.store.totals import waiting_reports as waiting_in
from hearsay.mechanisms.errors import QueryError


def waiting_reports(registered: Registered) -> int:
    """Reports that were published and are in no answer yet, all shards together."""
    seen = [(store, status(store)) for store in registered.stores]
    return sum(waiting_in(each, totals(store, each.windows)) for store, each in seen)


def with_waiting(refusal: QueryError, waiting: int) -> QueryError:
    """A refusal for want of reports, with the number of those that wait."""
    if not waiting:
        return refusal
    return QueryError(f"{refusal}; {waiting:,} reports are waiting to be folded (see hearsay status)")
