"""Snapshot directories: `snapshot.json` and `arrays.npz`, swapped in whole.

    <root>/<survey>/<window>                   a symbolic link onto the newest generation
    <root>/<survey>/.generations/<window>.<n>  the previous one stays too, for readers in the middle of it
    <root>/<survey>/.generations/owner         whose they are

A directory cannot be replaced by rename when it is not empty; a link can, and a reader sees one generation or the next.

Deployments may share a directory, but not the folder of one survey in it. The note `owner` names the deployment (server
and prefix) and the survey's birth. One of the two is enough: a server may be reached by another name, and one that lost
everything gives its surveys new births.
"""

import fcntl
import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.collector.survey.survey import Survey
from hearsay.estimator.errors import SnapshotError
from hearsay.estimator.snapshots.content import Content

JSON, ARRAYS = "snapshot.json", "arrays.npz"
GENERATIONS, OWNER = ".generations", "owner"
CHECKSUM = "checksum"


class Owner(NamedTuple):
    """A survey of a deployment."""

    deployment: str
    birth: str | None  # None: not known

    def holds(self, other: "Owner") -> bool:
        """Whether both are the same survey."""
        return self.deployment == other.deployment or (self.birth is not None and self.birth == other.birth)


def write(directory: str | Path, content: Content) -> Path:
    """Write a snapshot into one directory, made if it is missing; each file appears whole or not at all."""
    directory = Path(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with _replacing(directory / ARRAYS) as temporary, temporary.open("wb") as file:
            _save_arrays(file, content.arrays())
            _to_disk(file)
            document = content.document()
            document[CHECKSUM] = checksum(document, temporary)
        with _replacing(directory / JSON) as temporary, temporary.open("w", encoding="utf-8") as text:
            json.dump(document, text, indent=1, allow_nan=False)
            _to_disk(text)
    except OSError as error:
        raise SnapshotError(f"snapshot cannot be written to {directory}: {error.strerror or error}") from None
    return directory


def other_survey(directory: Path, survey: str) -> str | None:
    """The survey whose snapshot the directory holds, where that is not this one."""
    there = _document(directory).get("survey", survey)
    return None if there == survey else str(there)


def publish(root: str | Path, content: Content, still_newest: Callable[[], bool] = lambda: True) -> bool:
    """Make `content` the window's snapshot; False where it already is, or where `still_newest` denies it.

    `still_newest` is asked under a lock: of two estimators that write to one place the slower one must not win.
    """
    folder = Path(root) / content.survey.name
    link = folder / content.window
    try:
        if not still_newest():
            return False
        (folder / GENERATIONS).mkdir(parents=True, exist_ok=True)
        with _locked(folder / GENERATIONS):
            if _says_the_same(link, content) or not still_newest():
                return False
            older = _generations(folder, content.window)
            number = older[-1][0] + 1 if older else 1
            previous = link.resolve()
            fresh = folder / GENERATIONS / f"{content.window}.{number}"
            try:
                write(fresh, content)
                with _replacing(link) as temporary:
                    temporary.symlink_to(Path(GENERATIONS) / fresh.name)
            except BaseException:
                shutil.rmtree(fresh, ignore_errors=True)  # a disk that is full must not get fuller with every attempt
                raise
            for _, generation in older:
                if generation.resolve() != previous:
                    shutil.rmtree(generation, ignore_errors=True)
    except OSError as error:
        raise SnapshotError(f"snapshot cannot be written to {folder}: {error.strerror or error}") from None
    return True


def own(root: str | Path, survey: str, owner: Owner) -> None:
    """Note whose snapshots these are; refuses to write over those of another deployment."""
    note = _note(root, survey)
    noted = _read_owner(note)
    if noted == owner:
        return
    if noted is not None and not noted.holds(owner):
        raise SnapshotError(
            f"snapshots of {survey} in {root} are those of another deployment ({noted.deployment}); "
            "give each a data-dir of its own"
        )
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"{owner.deployment}\n{owner.birth or ''}\n", encoding="utf-8")
    except OSError as error:
        raise SnapshotError(f"snapshot cannot be written to {note.parent}: {error.strerror or error}") from None


def is_anothers(root: str | Path, survey: str, owner: Owner) -> bool:
    """Whether a folder holds the snapshots of a survey of the same name in another deployment."""
    noted = _read_owner(_note(root, survey))
    return noted is not None and not noted.holds(owner)


def owned(root: str | Path, deployment: str) -> list[str]:
    """Surveys whose snapshots this deployment has written."""
    notes = sorted(Path(root).glob(f"*/{GENERATIONS}/{OWNER}"))
    return [note.parents[1].name for note in notes if (noted := _read_owner(note)) and noted.deployment == deployment]


def checksum(document: Mapping[str, Any], arrays: Path) -> str:
    """SHA-256 over all that a snapshot says, and over its arrays."""
    hashed = {name: value for name, value in document.items() if name != CHECKSUM}
    digest = hashlib.sha256(json.dumps(hashed, sort_keys=True, allow_nan=False).encode())
    with arrays.open("rb") as file:
        digest.update(hashlib.file_digest(file, "sha256").digest())
    return f"sha256:{digest.hexdigest()}"


def holds(root: str | Path, survey: Survey, window: str, version: int, final: bool) -> bool:
    """Whether this version of a window is in place."""
    stored = _document(Path(root) / survey.name / window)
    wanted = (survey.tag, version, "final" if final else "partial")
    return (stored.get("tag"), stored.get("version"), stored.get("status")) == wanted


def windows(root: str | Path, survey: str) -> list[str]:
    """The names of a survey's windows that have a snapshot."""
    folder = Path(root) / survey
    if not folder.is_dir():
        return []
    return sorted(entry.name for entry in folder.iterdir() if entry.is_symlink() and entry.name[0] != ".")


def remove_window(root: str | Path, survey: str, window: str) -> None:
    """Remove a window's snapshot with all its generations."""
    folder = Path(root) / survey
    if (folder / GENERATIONS).is_dir():
        with _locked(folder / GENERATIONS):
            (folder / window).unlink(missing_ok=True)
            for _, generation in _generations(folder, window):
                shutil.rmtree(generation, ignore_errors=True)


def remove_survey(root: str | Path, survey: str) -> None:
    """Remove every snapshot of a survey; where its folder is a link, what it leads to, and the link."""
    link = Path(root) / survey
    folder = link.resolve()
    if link.is_symlink():
        if not (folder / GENERATIONS).is_dir():
            return  # nothing of ours
        link.unlink()
    if (folder / GENERATIONS).is_dir():
        with _locked(folder / GENERATIONS):  # an estimator may be about to swap one in
            shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def _says_the_same(link: Path, content: Content) -> bool:
    """By all it says, not by the version alone: a server that lost its last second counts versions again."""
    stored, fresh = _document(link), json.loads(json.dumps(content.document()))
    apart = {"generated_at": None, CHECKSUM: None}
    return stored | apart == fresh | apart


def _document(link: Path) -> dict[str, Any]:
    """The JSON of the snapshot in place; empty where there is none that can be read."""
    try:
        document = json.loads((link / JSON).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _generations(folder: Path, window: str) -> list[tuple[int, Path]]:
    """A window's generations with their numbers, oldest first."""
    paths = (folder / GENERATIONS).glob(f"{window}.*")
    return sorted((int(path.suffix[1:]), path) for path in paths if path.suffix[1:].isdigit())


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """A temporary name beside `target` that takes its place at the end."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process at a time; the lock goes away with the process that holds it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _to_disk(file: IO[Any]) -> None:
    """A link must not outlive a power cut that its files did not survive."""
    file.flush()
    os.fsync(file.fileno())


def _save_arrays(file: IO[bytes], arrays: dict[str, NDArray[Any]]) -> None:
    """What numpy's savez does, without its way into pickle."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _note(root: str | Path, survey: str) -> Path:
    return Path(root) / survey / GENERATIONS / OWNER


def _read_owner(note: Path) -> Owner | None:
    with suppress(OSError, ValueError):
        deployment, birth, _ = note.read_text(encoding="utf-8").split("\n")  # fails where a full disk cut it off
        return Owner(deployment, birth or None)
    return None
