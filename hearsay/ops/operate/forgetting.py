"""What a deleted survey leaves on disks: removed where it can be reached, named where it cannot."""

import socket
from collections.abc import Iterable
from pathlib import Path

from hearsay.estimator.snapshots import directory as snapshot
from hearsay.estimator.snapshots.owner import Owner, is_anothers


def remove_snapshots(name: str, root: Path, directories: Iterable[str], owner: Owner) -> list[str]:
    """Remove a survey's snapshots under `root` and in all `places` (`host:directory`); answers where some are left.

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
