"""Commands on the shared server."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hearsay.ops.cli import run
from hearsay.ops.server.embedded import EmbeddedServer


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
