"""Removes the snapshots of a deleted survey; names the directories that cannot be reached."""

import socket
from collections.abc import Iterable
from pathlib import Path

from hearsay.estimator.snapshots import files as snapshot
from hearsay.estimator.snapshots.files import Owner, is_anothers


def remove_snapshots(name: str, root: Path, directories: Iterable[str], owner: Owner) -> list[str]:
    """Remove a survey's snapshots under `root` and in all `directories` (`host:directory`); returns those that are
    left.

    Those of another deployment's survey of this name stay.
    """
    left = []
    for written in sorted({f"{socket.gethostname()}:{root.resolve()}", *directories}):
        host, _, directory = written.partition(":")
        if host != socket.gethostname():
            left.append(written)
            continue
        if is_anothers(directory, name, owner):
            continue
        snapshot.remove_survey(directory, name)
        if (Path(directory) / name).exists():
            left.append(written)
    return left
