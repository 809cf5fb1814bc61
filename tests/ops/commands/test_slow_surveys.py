"""Surveys too large for their mechanism are refused at once; large ones that are legal say what takes so long."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hearsay.collector.errors import SurveyError
from hearsay.collector.survey.survey import parse
from hearsay.ops.terminal import patience

Hearsay = Callable[..., tuple[int, str, str]]
REFUSED_S = 1.0  # of processor time
SURVEY = 'name = "a"\nmechanism = "{}"\nepsilon = {}\n[domain]\nkind = "{}"\nsize = {}\n'


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "kind", "size", "message"),
    [
        ("matrix", 1.0, "ordinal", 4_096, "domain must have at most 1024 cells for a metric, got 4096"),
        ("matrix", 1.0, "ordinal", 1 << 24, "domain must have at most 1024 cells for a metric, got 16777216"),
        ("matrix", 1.0, "ordinal", 1 << 28, "domain must have at most 1024 cells for a metric"),
        ("laplace-histogram", 1.0, "categorical", 4_096, "domain must have at most 1024 cells for a metric"),
        ("laplace-histogram", 1e-6, "categorical", 8, "epsilon must keep the noise within 1048576, got a row"),
        ("laplace-histogram", 1e-9, "categorical", 8, "epsilon must"),
    ],
)
def test_refused_at_once(
    hearsay: Hearsay, tmp_path: Path, mechanism: str, epsilon: float, kind: str, size: int, message: str
) -> None:
    (tmp_path / "a.toml").write_text(SURVEY.format(mechanism, epsilon, kind, size))
    started = time.process_time()
    code, _, complaint = hearsay("survey", "show", str(tmp_path / "a.toml"))
    assert time.process_time() - started < REFUSED_S
    assert code == 2
    (line,) = complaint.splitlines()
    assert message in line


@pytest.mark.parametrize("options", [{}, {"strategy": "prefix"}])
def test_too_small_an_epsilon_is_refused_before_the_noise_is_optimised(options: dict[str, Any]) -> None:
    domain = {"kind": "ordinal", "size": 1_000}
    mechanism = "matrix" if options else "laplace-histogram"
    started = time.process_time()
    with pytest.raises(SurveyError, match="epsilon must keep the noise within 1048576, got a row that needs at least"):
        parse({"name": "a", "mechanism": mechanism, "epsilon": 1e-6, "domain": domain, "options": options})
    assert time.process_time() - started < 6.0  # 15 s where the optimiser comes first; the metric's axioms take one


def channel(size: int, epsilon: float, promised: float, **options: Any) -> dict[str, Any]:
    """Randomised response as a matrix."""
    keep = np.exp(epsilon) / (np.exp(epsilon) + size - 1)
    matrix = np.full((size, size), (1 - keep) / (size - 1))
    np.fill_diagonal(matrix, keep)
    domain = {"kind": "categorical", "size": size}
    options = {"matrix": matrix.tolist(), **options}
    return {"name": "a", "mechanism": "channel", "epsilon": promised, "domain": domain, "options": options}


def test_a_channel_of_a_thousand_values_that_breaks_its_promise_is_refused_in_seconds() -> None:
    started = time.process_time()
    with pytest.raises(SurveyError, match=r"likelihood ratio of values \(0, 1\) must be at most 0.9, got 1"):
        parse(channel(1_000, 1.0, 0.9))
    assert time.process_time() - started < 8.0  # over 120 s where every pair is compared in fractions


def test_a_channel_of_a_thousand_values_within_its_promise_is_accepted_in_seconds() -> None:
    started = time.process_time()
    assert parse(channel(1_000, 1.0, 1.1)).mechanism.spent_epsilon == pytest.approx(1.0)
    assert time.process_time() - started < 12.0


def test_pairs_with_bounds_of_their_own_are_compared_as_fast() -> None:
    size = 300
    bound = np.full((size, size), 1.1)
    np.fill_diagonal(bound, 0.0)
    bound[7, 9] = 0.99
    started = time.process_time()
    with pytest.raises(SurveyError, match=r"values \(7, 9\) must be at most 0.99, got 1"):
        parse(channel(size, 1.0, 1.0, privacy=bound.tolist()))
    assert time.process_time() - started < 4.0


def test_what_takes_long_says_why(hearsay: Hearsay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A strategy of 300 rows is legal; its noise takes the optimiser a while."""
    monkeypatch.setattr(patience, "PATIENCE_S", 0.02)
    (tmp_path / "a.toml").write_text(SURVEY.format("matrix", 1.0, "ordinal", 300))
    code, out, complaint = hearsay("survey", "show", str(tmp_path / "a.toml"))
    assert code == 0
    assert "Metric privacy" in out
    assert complaint.splitlines() == [
        f"hearsay: checking {tmp_path}/a.toml takes longer: "
        "the noise of every row is optimised, and every pair of values is checked"
    ]


def test_what_is_quick_says_nothing(hearsay: Hearsay, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SURVEY.format("hrr", 1.0, "ordinal", 300))
    code, _, complaint = hearsay("survey", "show", str(tmp_path / "a.toml"))
    assert (code, complaint) == (0, "")
