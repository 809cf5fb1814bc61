"""Forgetting windows, their snapshots and dead letters that were kept as long as the survey says."""

from contextlib import suppress
from pathlib import Path

from hearsay.collector.store.registry import Registered, SurveyLook
from hearsay.estimator.snapshots import files as snapshot


def forget(registered: Registered, root: Path | None, seen: SurveyLook | None = None) -> list[str]:
    """Purge every final window that ended longer ago than `retain`; answers which."""
    survey = registered.survey
    if survey.retain_s is None:
        return []
    seen = registered.look() if seen is None else seen
    oldest_ms = seen.now_ms - survey.retain_s * 1_000
    for shard, look in zip(registered.shards, seen.shards, strict=True):
        shard.forget_dead_letters(look.observed_ms, survey.retain_s)
    known = set(seen.windows)
    for name in [] if root is None else snapshot.windows(root, survey.name):
        with suppress(ValueError):  # a link that somebody else put there
            known.add(survey.windows.named(name))
    purged = []
    for window in sorted(known):
        if window.end_ms is None or window.end_ms > oldest_ms:
            continue
        if not seen.is_final(window):
            continue
        purged_here = [shard.purge_window(window.name, survey.retain_s) for shard in registered.shards]
        if not all(purged_here):
            continue  # by the clock it is old, but it has not been kept for so long: the clock has jumped
        if root is not None:
            snapshot.remove_window(root, survey.name, window.name)
        purged.append(window.name)
    return purged
