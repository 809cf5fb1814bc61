"""Server, collector and worker as real processes, and commands that talk to them."""

from collections.abc import Callable, Iterator

import pytest

from hearsay.ops import cli
from hearsay.ops.server.processes import Pipeline


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    with Pipeline(tmp_path_factory.mktemp("live"), workers=1, estimator=False) as running:
        yield running


@pytest.fixture
def run(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """A command that must succeed; answers what it prints."""
    monkeypatch.setenv("HEARSAY_REDIS_URL", pipeline.server.url)
    monkeypatch.setenv("HEARSAY_DATA_DIR", str(pipeline.directory))

    def command(*words: str) -> str:
        assert cli.run(words) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return command
