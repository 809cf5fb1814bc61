import numpy as np
import pytest

from hearsay.mechanisms.changes import parse_trend
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.queries import trend as module
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.trend import TrendPoint, trend

WINDOWS = 52


def points(values: np.ndarray, stderr: np.ndarray) -> list[TrendPoint]:
    columns = zip(values.tolist(), stderr.tolist(), strict=True)
    return [TrendPoint(f"w{i}", float(i), Answer("point a", value, error)) for i, (value, error) in enumerate(columns)]


def quiet_p_values(runs: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    rows = []
    for _ in range(runs):
        stderr = np.full(WINDOWS, 0.01)
        rows.append([each.p_value for each in trend("trend point a", points(generator.normal(0.3, stderr), stderr))])
    return np.array(rows)


def steps(runs: int, seed: int) -> tuple[float, float]:
    """A step of two standard errors: how often it is seen, and how often within two windows of where it is."""
    generator, stderr, seen, near = np.random.default_rng(seed), np.full(WINDOWS, 0.01), 0, 0
    for _ in range(runs):
        at = int(generator.integers(13, 40))
        largest = trend(
            "trend point a", points(generator.normal(0.3 + 0.02 * (np.arange(WINDOWS) >= at), stderr), stderr)
        )[2]
        seen += largest.p_value is not None and largest.p_value < 0.05
        near += abs(int((largest.window or "w-9")[1:]) - at) <= 2
    return seen / runs, near / runs


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "slow" not in request.keywords:
        monkeypatch.setattr(module, "DRAWS", 1_000)


def test_a_line_is_recovered_and_gaps_count() -> None:
    answers = [Answer("point a", 0.1 + 0.02 * t, 0.01) for t in (0, 1, 5)]
    known = [TrendPoint(f"w{t}", t, each) for t, each in zip((0, 1, 5), answers, strict=True)]
    slope = trend("trend point a", known)[0]
    assert slope.value == pytest.approx(0.02)
    assert slope.stderr == pytest.approx(0.01 / np.sqrt(14.0))


def test_windows_that_are_known_better_weigh_more() -> None:
    answers = [Answer("point a", 0.1, 0.001), Answer("point a", 0.9, 1.0), Answer("point a", 0.1, 0.001)]
    _, any_change, _ = trend("trend point a", [TrendPoint(f"w{i}", i, each) for i, each in enumerate(answers)])
    assert any_change.value == pytest.approx(0.64, rel=0.01)


def test_answers_say_which_they_are() -> None:
    slope, any_change, largest = trend("trend point a", points(np.array([0.1, 0.1, 0.2]), np.full(3, 0.01)))
    assert [each.item for each in (slope, any_change, largest)] == ["slope", "any-change", "largest-change"]
    assert set(slope.table()) == {"query", "item", "value", "stderr", "low", "high", "p_value"}
    assert any_change.table()["low"] is None
    assert largest.table()["window"] == "w2"
    assert largest.low is not None
    assert largest.low > 0


def test_the_interval_of_the_largest_change_agrees_with_its_p_value() -> None:
    generator = np.random.default_rng(7)
    for size in np.linspace(0.0, 0.04, 9):
        largest = trend(
            "trend point a", points(generator.normal([0.1] * 6 + [0.1 + size] * 6, 0.01), np.full(12, 0.01))
        )[2]
        assert largest.low is not None
        assert largest.high is not None
        assert largest.p_value is not None
        assert (largest.low <= 0 <= largest.high) == (largest.p_value > 0.0505) or abs(largest.p_value - 0.05) < 0.002


def test_refusals() -> None:
    with pytest.raises(QueryError, match="two final windows with an answer and its error, got 1"):
        trend("trend point a", points(np.array([0.1]), np.array([0.01])))
    for words in ("trend", "trend trend auc", "trending auc"):
        with pytest.raises(QueryError, match="trend QUERY"):
            parse_trend(words)


def test_quiet_years_are_quiet() -> None:
    """Of 200 at 5%: at most 28 but once in a million."""
    assert ((quiet_p_values(200, seed=8) < 0.05).sum(axis=0) <= 28).all()


def test_a_step_of_two_standard_errors_is_seen_where_it_is() -> None:
    seen, near = steps(100, seed=9)
    assert seen >= 0.95
    assert near >= 0.8


@pytest.mark.slow
def test_over_two_thousand_years() -> None:
    shares = (quiet_p_values(2_000, seed=10) < 0.05).mean(axis=0)
    assert ((shares >= 0.04) & (shares <= 0.06)).all(), shares
    seen, near = steps(1_000, seed=11)
    assert seen >= 0.95
    assert near >= 0.9
