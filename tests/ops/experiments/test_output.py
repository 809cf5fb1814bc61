"""What every experiment does before it begins."""

from pathlib import Path

import pytest

from hearsay.ops import cli


@pytest.mark.parametrize("experiment", ["context-aware", "metric", "ranges"])
def test_without_matplotlib_it_ends_at_once_with_the_line_how_to_get_it(
    experiment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hearsay.ops.experiments.output.find_spec", lambda name: None)
    assert cli.run(["experiment", experiment, "--out", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "hearsay: the figures need matplotlib: pip install 'hearsay-ldp[experiments]'"
    assert not (tmp_path / "out").exists()
