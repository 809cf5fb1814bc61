"""Forgetting windows, their snapshots and dead letters that were kept as long as the survey says."""

from contextlib import suppress
from pathlib import Path

from hearsay.collector.store import dead_letters
from hearsay.collector.store.registry import Registered
from hearsay.collector.store.status import is_final, purge_window
from hearsay.estimator.snapshots import directory as snapshot


def forget(registered: Registered, root: Path | None) -> list[str]:
    """Purge every final window that ended longer ago than `retain`; answers which."""
    survey = registered.survey
    if survey.retain_s is None:
        return []
    oldest_ms = registered.stores[0].now_ms() - survey.retain_s * 1_000
    for store in registered.stores:
        dead_letters.forget(store, survey.retain_s)
    known = set(registered.windows)
    for name in [] if root is None else snapshot.windows(root, survey.name):
        with suppress(ValueError):  # a link that somebody else put there
            known.add(survey.windows.named(name))
    purged = []
    for window in sorted(known):
        if window.end_ms is None or window.end_ms > oldest_ms:
            continue
        if not all(is_final(store, window) for store in registered.stores):
            continue
        purged_here = [purge_window(store, window.name, survey.retain_s) for store in registered.stores]
        if not all(purged_here):
            continue  # by the clock it is old, but it has not been kept for so long: the clock has jumped
        if root is not None:
            snapshot.remove_window(root, survey.name, window.name)
        purged.append(window.name)
    return purged
