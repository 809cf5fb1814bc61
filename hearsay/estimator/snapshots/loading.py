"""Load a snapshot directory, check it, and answer queries from it."""

import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hearsay.collector.errors import CollectorError, NotAllowed
from hearsay.collector.survey.file import printable
from hearsay.collector.survey.survey import Survey, parse
from hearsay.errors import Fields, HearsayError
from hearsay.estimator.answer_table import Answers
from hearsay.estimator.answering import ask
from hearsay.estimator.errors import SnapshotError
from hearsay.estimator.snapshots.checks import check_apart, check_arrays, history, refusing_impossible_counts
from hearsay.estimator.snapshots.content import FORMAT, Content
from hearsay.estimator.snapshots.files import ARRAYS, CHECKSUM, JSON, checksum
from hearsay.estimator.snapshots.summary import summary
from hearsay.mechanisms import State
from hearsay.mechanisms.errors import ImpossibleCounts, MechanismError
from hearsay.mechanisms.estimates.estimate import Estimate

_NPY_HEADER_BYTES = 1_024  # what numpy writes before an array's numbers, at most
_CELL_BYTES = 8  # int64
_NAMED = 3  # snapshots that a message names
_JSON_BYTES = 64 << 20  # the largest snapshot.json that is read
# What json, zipfile and numpy raise for a damaged file; RuntimeError: a member is marked as encrypted.
_DAMAGED = (OSError, ValueError, TypeError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True)
class Snapshot:
    """A loaded snapshot: the exact state, from which every answer is estimated."""

    survey: Survey
    state: State
    metadata: dict[str, Any]

    _given_estimate: Estimate | None = None

    @classmethod
    def of(cls, content: Content) -> Self:
        """The snapshot that writing this content and loading it would give; takes over its estimate."""
        return cls(content.survey, content.state, content.document(), content.estimate)

    @property
    def reports(self) -> int:
        return self.survey.mechanism.reports(self.state)

    @cached_property
    def _estimate(self) -> Estimate:
        return self.survey.mechanism.estimate(self.state) if self._given_estimate is None else self._given_estimate

    def estimate(self) -> Estimate:
        """The mechanism's estimate from the state; computed once."""
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
        if against is not None:
            check_apart(self.metadata, against.metadata)
        with refusing_impossible_counts():
            answers = ask(
                self.survey,
                self.reports,
                self.estimate,
                question,
                postprocess=postprocess,
                against=against,
                count=count,
                simultaneous=simultaneous,
            )
        return Answers(answers)

    def __repr__(self) -> str:
        return summary(self.survey, self.metadata)


def load(directory: str | Path) -> Snapshot:
    """Load a snapshot, and check that its files belong together and that its state fits its survey.

    >>> snapshot = load(directory)
    >>> snapshot.survey.name, snapshot.reports
    ('likes', 10000)
    >>> [round(answer.value, 1) for answer in snapshot.ask("frequencies")]
    [0.6, 0.4]
    """
    if Path(directory).is_file():
        raise SnapshotError(
            f"{directory} is a file; a snapshot is a directory, as `hearsay simulate --out DIR` writes it"
        )
    if not Path(directory).is_dir():
        raise SnapshotError(f"snapshot directory {directory} does not exist")
    # The directory is a link to the newest generation. Resolved once, so that both files are of the same one.
    generation = Path(directory).resolve()
    metadata = _read_json(generation / JSON, directory)
    try:
        survey = parse(metadata["definition"])
        survey = survey.in_round(history(metadata, survey))
        _check_metadata(metadata, survey)
        if metadata["withheld"]:
            minimum, reports = survey.minimum_reports, metadata["reports"]
            raise SnapshotError(f"{directory} is withheld: answers need at least {minimum} reports, it has {reports}")
        shapes = survey.mechanism.arrays
        sizes = {f"state/{name}": _CELL_BYTES * prod(shape) for name, shape in shapes.items()}
        _check_sizes(generation / ARRAYS, sizes)
        if checksum(metadata, generation / ARRAYS) != metadata[CHECKSUM]:
            raise ValueError("its checksum does not match: a file was changed, or is damaged")
        state = _load_arrays(generation / ARRAYS, {name: f"state/{name}" for name in shapes})
    except (*_DAMAGED, CollectorError, MechanismError) as error:
        fields: Fields = error.fields if isinstance(error, HearsayError) else {}
        raise SnapshotError(f"{directory} is not a snapshot: {_short(error)}", **fields) from None
    check_arrays(directory, state, shapes)
    try:
        survey.mechanism.check_state(state)
    except ImpossibleCounts as error:
        raise SnapshotError(f"{directory}: {error}", **error.fields) from None
    reports = survey.mechanism.reports(state)
    if reports != metadata["reports"]:
        raise SnapshotError(f"{directory} says {metadata['reports']} reports, its state holds {reports}")
    return Snapshot(survey, state, metadata)


def _check_metadata(metadata: Mapping[str, Any], survey: Survey) -> None:
    """Refuse metadata that differs from the survey's definition beside it, or lacks a field."""
    stated = {name: metadata[name] for name in ("survey", "tag", "mechanism", "epsilon", "minimum_reports")}
    defined = {
        "survey": survey.name,
        "tag": survey.tag,
        "mechanism": survey.mechanism.ID,
        "epsilon": survey.epsilon,
        "minimum_reports": survey.minimum_reports,
    }
    for name, value in stated.items():
        if value != defined[name]:
            raise ValueError(f"{name} is {value!r}, but {defined[name]!r} in its definition")
    if not isinstance(metadata["window"], str) or CHECKSUM not in metadata:
        raise ValueError("its window or its checksum is missing")
    if type(metadata["reports"]) is not int or metadata["reports"] < 0 or type(metadata["withheld"]) is not bool:
        raise NotAllowed(what="reports", expected="an integer of at least 0, and withheld true or false")


def _check_sizes(path: Path, expected: dict[str, int]) -> None:
    """Before anything is read, refuse an archive that is compressed, or larger than the survey's state."""
    with zipfile.ZipFile(path) as archive:
        for name, size in expected.items():
            member = archive.getinfo(f"{name}.npy")
            if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
                raise ValueError(f"array {name} is compressed; snapshots are not")
            if not size <= member.file_size <= size + _NPY_HEADER_BYTES:
                raise NotAllowed(what=f"array {name}", must=f"have {size} bytes", got=member.file_size)


def _read_json(path: Path, directory: str | Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _JSON_BYTES:
            raise ValueError(f"more than {_JSON_BYTES} bytes")
        metadata = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SnapshotError(
            f"{directory} is not a snapshot: it has no {JSON}{_snapshots_in(Path(directory))}"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise SnapshotError(f"{directory} is not a snapshot: {JSON}: {_short(error)}") from None
    number = metadata.get("format") if isinstance(metadata, dict) else None
    if not isinstance(number, int) or number < 1:
        raise SnapshotError(f"{directory} is not a snapshot: {JSON} has no format number")
    if number > FORMAT:
        raise SnapshotError(f"{directory} has snapshot format {number}, this version reads up to {FORMAT}")
    return metadata


def _snapshots_in(directory: Path) -> str:
    """The snapshots one level down: a survey's directory has one for each window."""
    names = sorted(printable(path.parent.name) for path in directory.glob(f"[!.]*/{JSON}"))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"; snapshots in it: {', '.join(names[:_NAMED])}{more}" if names else ""


def _load_arrays(path: Path, members: dict[str, str]) -> dict[str, NDArray[Any]]:
    """Arrays by name, each from the named member of the archive; other members and pickles are not read."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for name, member in members.items():
            with archive.open(f"{member}.npy") as file:
                arrays[name] = np.lib.format.read_array(file, allow_pickle=False)
    return arrays


def _short(error: Exception) -> str:
    """The first line of an error's text, without control characters; its type if it has no text."""
    first, *_ = str(error).splitlines() or [type(error).__name__]
    return printable(first)
