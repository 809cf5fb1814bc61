"""Notes on files of values that were sent, so that a device of a file reports once.

Whoever sends keeps them, one note for each file and collection. A note's name is a digest of both under a random key
that never leaves the folder: without the key it tells nothing of a value, not even whether a file holds it. A note
holds numbers of rows and a time. Only its own user can read the folder. Another machine or folder has no note.
"""

import fcntl
import json
import os
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from tempfile import mkstemp

from hearsay.producer.errors import ValuesError

KEY = "key"
_KEY_BYTES, _NAME_BYTES, _NOTE_BYTES = 32, 16, 256


class SentFiles:
    """The notes in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder, self._key = folder, _key(folder / KEY)

    def hasher(self) -> "blake2b":
        """What is to be fed with a file's bytes."""
        return blake2b(key=self._key, digest_size=_NAME_BYTES)

    def open(self, content: "blake2b", collection: str) -> "Note":
        """The note on a file in a collection, new or known; nobody else can open it meanwhile."""
        name = content.copy()
        name.update(b"\0" + collection.encode())
        return Note.open(self._folder / name.hexdigest())

    def mark(self, survey: str) -> str:
        """What notes call a survey, which is given by what distinguishes it from a deleted one of the same name."""
        return blake2b(survey.encode(), key=self._key, digest_size=_NAME_BYTES).hexdigest()

    def rows_in(self, survey: str) -> int:
        """How many rows of files went to a survey, at most; older notes do not say where they went."""
        mark, rows = self.mark(survey), 0
        for path in self._folder.iterdir():
            with suppress(OSError):  # one that was just taken away
                progress = _progress(path.read_bytes())
                rows += progress.earlier + progress.tried if progress.survey == mark else 0
        return rows


def _key(path: Path) -> bytes:
    """The folder's key; whole as soon as it has its name."""
    if not path.exists():
        number, draft = mkstemp(prefix=f"{KEY}.", dir=path.parent)  # a new name: a killed process may have left one
        try:
            with open(number, "wb") as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
            with suppress(FileExistsError):
                os.link(draft, path)  # whoever was first has made the key
        finally:
            os.unlink(draft)
    return path.read_bytes()


@dataclass
class Progress:
    """How far a file of so many rows went out: `sent` surely, `tried` at most. `at` is when it was last sent.

    `before` is how many simulated reports the survey had when the sending began, None where that is unknown. `survey`
    is the mark of the survey, `earlier` how many rows went there when the file was sent from its start before.
    """

    rows: int = 0
    sent: int = 0
    tried: int = 0
    before: int | None = None
    at: str = ""
    survey: str = ""
    earlier: int = 0


def _progress(text: bytes) -> Progress:
    """What a note says; one that is cut off says nothing."""
    with suppress(ValueError, TypeError):
        return Progress(**json.loads(text))
    return Progress()


class Note:
    """The progress of one file in one collection, kept up to date on disk."""

    def __init__(self, path: Path, file: int) -> None:
        self._path, self._file, self._first, self._is_written = path, file, 0, False
        self.progress = _progress(os.pread(file, _NOTE_BYTES, 0))

    @classmethod
    def open(cls, path: Path) -> "Note":
        """The note at a path, with room on the disk; OSError where there is none."""
        while True:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not os.fstat(file).st_nlink:  # whoever had it took it away before this process had it
                    os.close(file)
                    continue
                if not os.fstat(file).st_size:
                    os.pwrite(file, b" " * _NOTE_BYTES, 0)
            except BlockingIOError:
                os.close(file)
                raise ValuesError("the file is being sent by another process") from None
            except OSError:
                path.unlink(missing_ok=True)
                os.close(file)
                raise
            return cls(path, file)

    def begin(self, rows: int, first: int, before: int | None, survey: str = "") -> None:
        """From row `first` on the file is sent to `survey`, which has so many simulated reports now."""
        self._first = first
        earlier = self.progress.earlier + self.progress.tried - first
        self.progress = Progress(
            rows, first, first, None if before is None else before - first, survey=survey, earlier=earlier
        )

    def trying(self, rows: int) -> None:
        """So many more rows are about to go out."""
        self.progress.tried += rows
        self._write()

    def went_out(self, rows: int) -> None:
        """So many more rows went out."""
        self.progress.sent += rows
        self._write()

    def end(self, counted: bool, none: bool) -> None:
        """It is known what went out: what was `counted`, or all that was tried; or `none` of it."""
        now = self.progress
        now.sent = now.tried = self._first if none else now.sent if counted else now.tried
        self._write()

    def close(self) -> None:
        """Let others open it; a note on nothing goes."""
        if not os.pread(self._file, _NOTE_BYTES, 0).strip() or (self._is_written and not self.progress.tried):
            self._path.unlink(missing_ok=True)
        os.close(self._file)

    def _write(self) -> None:
        self.progress.at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        with suppress(OSError):  # a disk that fails must not stop the sending; `open` has taken the room
            os.pwrite(self._file, json.dumps(asdict(self.progress)).encode().ljust(_NOTE_BYTES), 0)
            self._is_written = True
