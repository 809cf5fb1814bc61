"""Whose snapshots a folder holds: deployments may share a directory, but not the folder of one survey in it.

A note beside the generations names the deployment (server and prefix) and the survey's birth. One of the two is enough:
a server may be reached by another name, and one that lost everything gives its surveys new births.
"""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hearsay.estimator.errors import SnapshotError
from hearsay.estimator.snapshots.files import GENERATIONS

NOTE = "owner"


class Owner(NamedTuple):
    """A survey of a deployment."""

    deployment: str
    birth: str | None  # None: not known

    def holds(self, other: "Owner") -> bool:
        """Whether both are the same survey."""
        return self.deployment == other.deployment or (self.birth is not None and self.birth == other.birth)


def own(root: str | Path, survey: str, owner: Owner) -> None:
    """Note whose snapshots these are; refuses to write over those of another deployment."""
    note = _note(root, survey)
    held = _read(note)
    if held == owner:
        return
    if held is not None and not held.holds(owner):
        raise SnapshotError(
            f"snapshots of {survey} in {root} are those of another deployment ({held.deployment}); "
            "give each a data-dir of its own"
        )
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"{owner.deployment}\n{owner.birth or ''}\n", encoding="utf-8")
    except OSError as error:
        raise SnapshotError(f"snapshot cannot be written to {note.parent}: {error.strerror or error}") from None


def is_anothers(root: str | Path, survey: str, owner: Owner) -> bool:
    """Whether a folder holds the snapshots of a survey of the same name in another deployment."""
    held = _read(_note(root, survey))
    return held is not None and not held.holds(owner)


def owned(root: str | Path, deployment: str) -> list[str]:
    """Surveys whose snapshots this deployment has written."""
    notes = sorted(Path(root).glob(f"*/{GENERATIONS}/{NOTE}"))
    return [note.parents[1].name for note in notes if (held := _read(note)) and held.deployment == deployment]


def _note(root: str | Path, survey: str) -> Path:
    return Path(root) / survey / GENERATIONS / NOTE


def _read(note: Path) -> Owner | None:
    with suppress(OSError, ValueError):
        deployment, birth, _ = note.read_text(encoding="utf-8").split("\n")  # fails where a full disk cut it off
        return Owner(deployment, birth or None)
    return None
