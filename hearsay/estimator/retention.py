"""Forgetting windows, their snapshots and dead letters that were kept as long as the survey says."""

from pathlib import Path

from hearsay.collector.store.reading import read
from hearsay.collector.store.registry import Registered
from hearsay.collector.store.status import is_final, now_ms, purge_window
from hearsay.collector.survey.windows import bounds_ms
from hearsay.estimator.live import windows_of
from hearsay.estimator.snapshots import directory as snapshot


def forget(registered: Registered, root: Path | None) -> list[str]:
    """Purge every final window that ended longer ago than `retain`; answers which."""
    survey = registered.survey
    if survey.retain_s is None:
        return []
    oldest_ms = now_ms(registered.stores[0]) - survey.retain_s * 1_000
    for store in registered.stores:
        store.client.xtrim(store.keys.dead, minid=f"{max(oldest_ms, 0)}-0", approximate=False)
    known = set(windows_of(registered))
    if root is not None:
        known |= set(snapshot.windows(root, survey.name))
    purged = []
    for window in sorted(known):
        _, end_ms = bounds_ms(window, survey.every_s)
        if end_ms is None or end_ms > oldest_ms or not all(is_final(store, window) for store in registered.stores):
            continue
        for store in registered.stores:
            purge_window(store, window, read(store, window))
        if root is not None:
            snapshot.remove_window(root, survey.name, window)
        purged.append(window)
    return purged
