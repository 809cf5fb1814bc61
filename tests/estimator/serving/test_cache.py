"""Estimates are kept while nothing changes, never twice, and never more than fit."""

import gc
import weakref

import pytest

from hearsay.collector.store.registry import Registry
from hearsay.estimator.serving.cache import EstimateCache
from hearsay.mechanisms.errors import QueryError
from tests.estimator.surveys import colours, deliver


def test_an_estimate_is_made_once_until_something_changes(registry: Registry) -> None:
    registered, cache = registry.add(colours()), EstimateCache()
    deliver(registered, 200, seed=1)
    first = cache.get(registered, "all")
    assert cache.get(registered, "all") is first
    deliver(registered, 50, seed=2)
    assert cache.get(registered, "all").estimate.reports == 250


def test_what_has_changed_is_let_go(registry: Registry) -> None:
    """A survey that is asked while reports stream in must not pile up estimates of its past."""
    registered, cache, past = registry.add(colours()), EstimateCache(), []
    for seed in range(5):
        deliver(registered, 100, seed=seed)
        past.append(weakref.ref(cache.get(registered, "all").estimate))
    gc.collect()
    assert [reference() is not None for reference in past] == [False] * 4 + [True]


def test_only_as_many_as_fit_are_kept(registry: Registry) -> None:
    surveys = [registry.add(colours(name=f"colours-{number}")) for number in range(4)]
    for registered in surveys:
        deliver(registered, 100)
    few, small = EstimateCache(entries=2), EstimateCache(cells=7)  # each has three cells
    for cache in (few, small):
        made = [cache.get(registered, "all") for registered in surveys]
        assert [cache.get(registered, "all") is old for registered, old in zip(surveys[2:], made[2:], strict=True)] == [
            True,
            True,
        ]
        assert cache.get(surveys[0], "all") is not made[0]
    tiny = EstimateCache(cells=1)
    assert tiny.get(surveys[0], "all") is tiny.get(surveys[0], "all"), "the last one is kept, however large"


def test_what_is_withheld_is_not_kept(registry: Registry) -> None:
    registered, cache = registry.add(colours(answers={"minimum_reports": 150})), EstimateCache()
    deliver(registered, 100, seed=1)
    with pytest.raises(QueryError, match="withheld"):
        cache.get(registered, "all")
    deliver(registered, 100, seed=2)
    assert cache.get(registered, "all").estimate.reports == 200
