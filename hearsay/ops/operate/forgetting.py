"""What a deleted survey leaves on disks: removed where it can be reached, named where it cannot."""

import socket
from collections.abc import Iterable
from pathlib import Path

from hearsay.estimator.snapshots import directory as snapshot
from hearsay.estimator.snapshots.owner import Owner, is_anothers


def remove_snapshots(name: str, root: Path, places: Iterable[str], owner: Owner) -> list[str]:
    """Remove a survey's snapshots under `root` and in all `places` (`host:directory`); answers where some are left.

    Those of another deployment's survey of this name stay.
    """
    left = []
    for place in sorted({f"{socket.gethostname()}:{root.resolve()}", *places}):
        host, _, directory = place.partition(":")
        if host != socket.gethostname():
            left.append(place)
            continue
        if is_anothers(directory, name, owner):
            continue
        snapshot.remove_survey(directory, name)
        if (Path(directory) / name).exists():
            left.append(place)
    return left
