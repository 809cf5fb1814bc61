"""Snapshot directories: `snapshot.json` and `arrays.npz`, swapped in whole.

    <root>/<survey>/<window>                   a symbolic link onto the newest generation
    <root>/<survey>/.generations/<window>.<n>  the previous one stays too, for readers in the middle of it

A directory cannot be replaced by rename when it is not empty; a link can, and a reader sees one generation or the next.
"""

import fcntl
import hashlib
import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import IO, Any, Self

from hearsay.collector.errors import CollectorError
from hearsay.collector.survey.file import printable
from hearsay.collector.survey.survey import Survey, parse
from hearsay.estimator.answer_table import Answers
from hearsay.estimator.answering import ask
from hearsay.estimator.errors import SnapshotError
from hearsay.estimator.snapshots.arrays import load_arrays, save_arrays
from hearsay.estimator.snapshots.checks import check_apart, check_arrays, history, refusing_impossible_counts
from hearsay.estimator.snapshots.content import FORMAT, Content
from hearsay.estimator.snapshots.summary import summary
from hearsay.mechanisms import State
from hearsay.mechanisms.errors import ImpossibleCounts, MechanismError
from hearsay.mechanisms.estimates.estimate import Estimate

JSON, ARRAYS = "snapshot.json", "arrays.npz"
GENERATIONS = ".generations"
CHECKSUM = "checksum"
_NPY_HEAD = 1_024  # what an array's own description takes at most
_JSON_BYTES = 64 << 20
# What a damaged file makes json, zipfile and numpy raise; RuntimeError: a flag says encrypted, or packed in some way.
_DAMAGED = (OSError, ValueError, TypeError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True)
class Snapshot:
    """A directory read back: the exact state, from which every query is estimated anew."""

    survey: Survey
    state: State
    metadata: dict[str, Any]

    _made: Estimate | None = None

    @classmethod
    def of(cls, content: Content) -> Self:
        """What reading it back would give, without writing it."""
        return cls(content.survey, content.state, content.document(), content.estimate)

    @property
    def reports(self) -> int:
        return self.survey.mechanism.reports(self.state)

    @cached_property
    def _estimate(self) -> Estimate:
        return self.survey.mechanism.estimate(self.state) if self._made is None else self._made

    def estimate(self) -> Estimate:
        """What the state says; made once."""
        return self._estimate

    def ask(
        self,
        question: str | Sequence[str],
        *,
        count: bool = False,
        postprocess: str | None = None,
        simultaneous: bool = False,
        against: "Snapshot | None" = None,
    ) -> Answers:
        """The answers to a query such as `range 300 500`; docs/reference/queries.md has them all.

        With `against` each is a difference, this snapshot less that one (docs/how-to/changes.md).
        """
        how = {"count": count, "simultaneous": simultaneous}
        if against is not None:
            check_apart(self.metadata, against.metadata)
        with refusing_impossible_counts():
            answers = ask(
                self.survey, self.reports, self.estimate, question, postprocess=postprocess, against=against, **how
            )
        return Answers(answers)

    def __repr__(self) -> str:
        return summary(self.survey, self.metadata)


def write(directory: str | Path, content: Content) -> Path:
    """Write a snapshot into one directory, made if it is missing; each file appears whole or not at all."""
    directory = Path(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with _replacing(directory / ARRAYS) as temporary, temporary.open("wb") as file:
            save_arrays(file, content.arrays())
            _to_disk(file)
            document = content.document()
            document[CHECKSUM] = checksum(document, temporary)
        with _replacing(directory / JSON) as temporary, temporary.open("w", encoding="utf-8") as text:
            json.dump(document, text, indent=1, allow_nan=False)
            _to_disk(text)
    except OSError as error:
        raise SnapshotError(f"snapshot cannot be written to {directory}: {error.strerror or error}") from None
    return directory


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


def load(directory: str | Path) -> Snapshot:
    """Read a snapshot back, checking that it is one and that its state fits its survey.

    >>> found = load(directory)
    >>> found.survey.name, found.reports
    ('likes', 10000)
    >>> [round(answer.value, 1) for answer in found.ask("frequencies")]
    [0.6, 0.4]
    """
    if not Path(directory).is_dir():
        raise SnapshotError(f"snapshot directory {directory} does not exist")
    generation = Path(directory).resolve()  # once, so that both files come from the same generation
    metadata = _read_json(generation / JSON, directory)
    try:
        survey = parse(metadata["definition"])
        survey = survey.in_round(history(metadata, survey))
        _check_metadata(metadata, survey)
        if metadata["withheld"]:
            least, held = survey.minimum_reports, metadata["reports"]
            raise SnapshotError(f"{directory} is withheld: answers need at least {least} reports, it has {held}")
        shapes = survey.mechanism.arrays
        _check_sizes(generation / ARRAYS, {f"state/{name}": 8 * prod(shape) for name, shape in shapes.items()})
        if checksum(metadata, generation / ARRAYS) != metadata[CHECKSUM]:
            raise ValueError("its checksum is another one: a file was changed, or is damaged")
        state = load_arrays(generation / ARRAYS, {name: f"state/{name}" for name in shapes})
    except (*_DAMAGED, CollectorError, MechanismError) as error:
        raise SnapshotError(f"{directory} is not a snapshot: {_short(error)}") from None
    check_arrays(directory, state, shapes)
    try:
        survey.mechanism.check_state(state)
    except ImpossibleCounts as error:
        raise SnapshotError(f"{directory}: {error}") from None
    reports = survey.mechanism.reports(state)
    if reports != metadata["reports"]:
        raise SnapshotError(f"{directory} says {metadata['reports']} reports, its state holds {reports}")
    return Snapshot(survey, state, metadata)


def checksum(document: Mapping[str, Any], arrays: Path) -> str:
    """SHA-256 over all that a snapshot says, and over its arrays."""
    said = {name: value for name, value in document.items() if name != CHECKSUM}
    digest = hashlib.sha256(json.dumps(said, sort_keys=True, allow_nan=False).encode())
    with arrays.open("rb") as file:
        digest.update(hashlib.file_digest(file, "sha256").digest())
    return f"sha256:{digest.hexdigest()}"


def _check_metadata(metadata: Mapping[str, Any], survey: Survey) -> None:
    """Compare what is said twice: what was changed in one place only is not believed."""
    said = {name: metadata[name] for name in ("survey", "tag", "mechanism", "epsilon", "minimum_reports")}
    defined = {
        "survey": survey.name,
        "tag": survey.tag,
        "mechanism": survey.mechanism.ID,
        "epsilon": survey.epsilon,
        "minimum_reports": survey.minimum_reports,
    }
    for name, value in said.items():
        if value != defined[name]:
            raise ValueError(f"{name} is {value!r}, and {defined[name]!r} by its definition")
    if not isinstance(metadata["window"], str) or CHECKSUM not in metadata:
        raise ValueError("its window or its checksum is missing")
    if type(metadata["reports"]) is not int or metadata["reports"] < 0 or type(metadata["withheld"]) is not bool:
        raise ValueError("reports must be an integer of at least 0, and withheld true or false")


def _check_sizes(path: Path, expected: dict[str, int]) -> None:
    """Refuse an archive that would unpack to more than its file holds, or than its survey needs, before it is read."""
    with zipfile.ZipFile(path) as archive:
        for name, size in expected.items():
            member = archive.getinfo(f"{name}.npy")
            if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
                raise ValueError(f"array {name} is compressed; snapshots are not")
            if not size <= member.file_size <= size + _NPY_HEAD:
                raise ValueError(f"array {name} must have {size} bytes, got {member.file_size}")


def holds(root: str | Path, survey: Survey, window: str, version: int, final: bool) -> bool:
    """Whether this version of a window is in place."""
    held = _document(Path(root) / survey.name / window)
    wanted = (survey.tag, version, "final" if final else "partial")
    return (held.get("tag"), held.get("version"), held.get("status")) == wanted


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


def _read_json(path: Path, directory: str | Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _JSON_BYTES:
            raise ValueError(f"more than {_JSON_BYTES} bytes")
        metadata = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SnapshotError(f"{directory} is not a snapshot: it has no {JSON}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise SnapshotError(f"{directory} is not a snapshot: {JSON}: {_short(error)}") from None
    number = metadata.get("format") if isinstance(metadata, dict) else None
    if not isinstance(number, int) or number < 1:
        raise SnapshotError(f"{directory} is not a snapshot: {JSON} has no format number")
    if number > FORMAT:
        raise SnapshotError(f"{directory} has snapshot format {number}, this version reads up to {FORMAT}")
    return metadata


def _says_the_same(link: Path, content: Content) -> bool:
    """By all it says, not by the version alone: a server that lost its last second counts versions again."""
    held, fresh = _document(link), json.loads(json.dumps(content.document()))
    apart = {"generated_at": None, CHECKSUM: None}
    return held | apart == fresh | apart


def _document(link: Path) -> dict[str, Any]:
    """The JSON of the snapshot in place; empty where there is none that can be read."""
    try:
        document = json.loads((link / JSON).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _generations(folder: Path, window: str) -> list[tuple[int, Path]]:
    """A window's generations with their numbers, oldest first."""
    found = (folder / GENERATIONS).glob(f"{window}.*")
    return sorted((int(path.suffix[1:]), path) for path in found if path.suffix[1:].isdigit())


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


def _short(error: Exception) -> str:
    first, *_ = str(error).splitlines() or [type(error).__name__]
    return printable(first)
