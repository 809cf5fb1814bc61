"""Notes on files that were sent, on a full disk and between two processes."""

import errno
import os
from pathlib import Path

import pytest

from hearsay.producer.errors import ValuesError
from hearsay.producer.sent_files import KEY, Note, SentFiles


def full_disk(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_noticed_before_anything_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pwrite", full_disk)
    with pytest.raises(OSError, match="No space"):
        Note.open(tmp_path / "note")
    assert not list(tmp_path.iterdir())


def test_a_note_on_nothing_goes(tmp_path: Path) -> None:
    Note.open(tmp_path / "note").close()
    assert not list(tmp_path.iterdir())


def test_a_note_that_was_taken_away_while_it_was_opened_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, really = tmp_path / "note", os.open
    other = Note.open(path)

    def open_and_wait(*given: object) -> int:
        file = really(*given)  # type: ignore[arg-type]
        monkeypatch.setattr(os, "open", really)
        other.close()  # the other process ends now
        return file

    monkeypatch.setattr(os, "open", open_and_wait)
    note = Note.open(path)
    note.begin(10, 0, 0)
    note.trying(10)
    with pytest.raises(ValuesError, match="another process"):
        Note.open(path)
    note.close()
    again = Note.open(path)
    assert again.progress.tried == 10
    again.close()


def test_a_key_that_was_begun_by_a_killed_process_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / f"{KEY}.{os.getpid()}").touch()
    assert SentFiles(tmp_path).hasher().hexdigest() == SentFiles(tmp_path).hasher().hexdigest()
    assert (tmp_path / KEY).stat().st_mode & 0o777 == 0o600


def test_a_full_disk_leaves_no_half_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", full_disk)
    with pytest.raises(OSError, match="No space"):
        SentFiles(tmp_path)
    assert not list(tmp_path.iterdir())
