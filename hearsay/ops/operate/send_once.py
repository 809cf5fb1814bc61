"""A file's devices report once in a collection: which rows are still to be sent, and what is said of the others."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hearsay.collector.store.registry import Registered
from hearsay.collector.survey.survey import Survey
from hearsay.ops.errors import OperationError
from hearsay.ops.terminal.present import counted, notes
from hearsay.ops.terminal.values_file import ValuesFile
from hearsay.producer.fleet import People
from hearsay.producer.sent_files import Note, Progress, SentFiles
from hearsay.producer.values import Rows

FOLDER = "sent"  # of the data directory
AGAIN_OPTION = "--again"
Made = TypeVar("Made")


@dataclass(frozen=True)
class Collection:
    """What counts a device once: a survey until it is deleted, or one of its windows of time."""

    survey: Survey
    name: str
    birth: str  # distinguishes the survey from a deleted one of the same name
    simulated: int | None  # reports that it has, where that is known

    @classmethod
    def of(cls, registered: Registered) -> "Collection":
        seen = registered.look()
        birth = str(seen.birth)
        return cls(seen.survey, f"{birth}{_window(seen.survey, seen.now_ms)}", birth, seen.simulated_reports)

    @classmethod
    def behind(cls, url: str, survey: Survey, birth: str | None, now_ms: int) -> "Collection":
        """Behind a gateway, of which an older one does not tell whether a survey was deleted and registered anew."""
        birth = birth or f"{url} {survey.tag}"
        return cls(survey, f"{birth}{_window(survey, now_ms)}", birth, None)


def _window(survey: Survey, now_ms: int) -> str:
    return f" {survey.windows.of(now_ms, None).name}" if survey.windows.timed else ""


class Sending:
    """People who are to report, `total` of them; where they come from a file, the note on it is kept up to date."""

    def __init__(self, people: People, total: int, note: Note | None, first: int = 0) -> None:
        self._people, self.total, self._note, self.first = people, total, note, first

    @property
    def is_noted(self) -> bool:
        return self._note is not None

    def take(self, count: int) -> Any:
        """The values of the next people, who are about to report."""
        if self._note is not None:
            self._note.trying(count)
        return self._people.take(count)

    def trying_all(self) -> None:
        """Note that another process sends all of them."""
        if self._note is not None:
            self._note.trying(self.total)

    def telling(self, progress: Callable[[int], None]) -> Callable[[int], None]:
        """A function for progress that also notes it in the file."""

        def note_and_show(count: int) -> None:
            if self._note is not None:
                self._note.went_out(count)
            progress(count)

        return note_and_show

    def ended(self, counted: bool, none: bool = False) -> None:
        """The sending ended: those that were `counted` went out and no others, or all who were tried; or `none`."""
        if self._note is not None:
            self._note.end(counted, none)


@contextmanager
def sending(
    file: ValuesFile,
    collection: Collection,
    data_dir: Path,
    devices: int | None,
    again: bool,
    in_parts: bool = True,
) -> Iterator[Sending]:
    """The rows of a file that this collection has not had; refused where there are none, unless `again`.

    `in_parts`: rows go out in order, so that a sending that was broken off can go on.
    """
    known = _unless_disk(data_dir, lambda: SentFiles(data_dir / FOLDER))
    content = None if known is None else known.hasher()
    values = file.read(collection.survey.mechanism.domain, None if content is None else content.update)
    total = len(values) if devices is None else devices
    if known is None or content is None:
        yield Sending(Rows(values), total, None)
        return
    note = _unless_disk(data_dir, lambda: known.open(content, collection.name))
    if note is None:
        yield Sending(Rows(values), total, None)
        return
    try:
        before = note.progress
        first = 0 if again else _first(before, file, collection, len(values), total, in_parts)
        _say_others(file, collection, known)
        note.begin(len(values), first, collection.simulated, known.mark(collection.birth))
        if first:
            unsure = first - _known_to_be_out(before, collection)
            perhaps = f", of the last {unsure:,} it is not known" if unsure > 0 else ""
            words = f"{file.name}: {counted(first, 'row')} went out before{perhaps}; going on with the next"
            notes().print(words, markup=False)
        yield Sending(Rows(values, first), total - first, note, first)
    finally:
        note.close()


def rows_sent(birth: str, data_dir: Path) -> int:
    """How many rows of files went to a survey from here, at most."""
    folder = data_dir / FOLDER
    with suppress(OSError):  # notes of somebody else
        return SentFiles(folder).rows_in(birth) if folder.is_dir() else 0
    return 0


def _say_others(file: ValuesFile, collection: Collection, known: SentFiles) -> None:
    """Say that a survey has simulated reports that are no rows of a file, as far as is known here."""
    rows = known.rows_in(collection.birth)
    if rows and collection.survey.windows.in_rounds:  # a row may have reported in every round
        return
    if collection.simulated is not None and collection.simulated > rows:
        of_files = f", {rows:,} of them rows of files" if rows else ""
        has = f"already has {counted(collection.simulated, 'simulated report')}{of_files}"
        notes().print(
            f"survey {collection.survey.name} {has}; the rows of {file.name} mix with them",
            markup=False,
        )


def _unless_disk(data_dir: Path, make: Callable[[], Made]) -> Made | None:
    """What is made in the folder of notes; None where that cannot be written, which is said."""
    try:
        return make()
    except OSError as error:
        why = error.strerror or type(error).__name__
        notes().print(
            f"no note can be kept in {data_dir / FOLDER} ({why}): sending the same file twice will not be noticed",
            markup=False,
        )
        return None


def _known_to_be_out(before: Progress, collection: Collection) -> int:
    """How many rows went out, as noted or by the survey's count. Reports of others meanwhile count there too."""
    if collection.simulated is None or before.before is None:
        return before.sent
    return max(before.sent, min(before.tried, collection.simulated - before.before))


def _first(before: Progress, file: ValuesFile, collection: Collection, rows: int, total: int, in_parts: bool) -> int:
    """The first row that is still to be sent."""
    sent, tried = before.sent, before.tried
    if collection.simulated is not None and before.before is not None:
        came_in = max(sent, collection.simulated - before.before)  # at most, with what others sent
        tried = sent if came_in == sent else tried
        most = min(tried, came_in)
    else:
        most = tried
    if not tried:
        return 0
    if in_parts and before.rows == rows and tried < total:
        return tried
    survey = collection.survey
    went = f"{counted(sent, 'row')} of it" if sent == most else f"{sent:,} to {counted(most, 'row')} of it"
    later = "wait for the next window, " if survey.windows.timed else ""
    raise OperationError(
        f"{file.name}: {went} went to survey {survey.name} at {before.at}, and a device reports once; {later}"
        f"send other values, delete the survey to start anew, or use {AGAIN_OPTION} to send all rows again"
    )
