"""Commands set up logging for their process; a test gives it back. And commands on the shared server."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hearsay.ops.cli import run
from hearsay.ops.server.embedded import EmbeddedServer


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


@pytest.fixture
def hearsay(
    server: EmbeddedServer,
    prefix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, str, str]]:
    """A command on the shared server: its exit code, what it says and what it complains about."""
    monkeypatch.setenv("HEARSAY_REDIS_URL", server.url)
    monkeypatch.setenv("HEARSAY_PREFIX", prefix)
    monkeypatch.setenv("HEARSAY_DATA_DIR", str(tmp_path / "var"))

    def call(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(list(words))
        out, err = capsys.readouterr()
        return code, out, err

    return call
