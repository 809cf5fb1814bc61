"""`--postprocess smooth`: a smooth density through all levels, its band, and the guard."""

from typing import Any

import numpy as np
import pytest

from hearsay.collector.errors import SurveyError
from hearsay.collector.survey.survey import parse
from hearsay.mechanisms import build
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.questions import answer, parse_text
from hearsay.mechanisms.ranges.hierarchical.smooth import RawLevel, SmoothFit, looks, misfit_limit, splines

CELLS = 256


def estimated(shares: np.ndarray, reports: int = 60_000, epsilon: float = 1.5, seed: int = 1) -> Any:
    mechanism = build(
        {"mechanism": "hierarchical", "epsilon": epsilon, "domain": {"kind": "ordinal", "size": shares.size}}
    )
    people = np.random.default_rng(seed).choice(shares.size, reports, p=shares / shares.sum())
    return mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(people, seeded(seed))))


BELL = np.exp(-0.5 * ((np.arange(CELLS) - 120) / 45) ** 2)
SPIKES = BELL / BELL.sum() + np.where(np.isin(np.arange(CELLS), [40, 130, 200]), 0.15, 0.0)


def test_splines_are_shares_of_one_everywhere() -> None:
    for cells in (32, 100, 1024):
        np.testing.assert_allclose(splines(cells).sum(axis=1), 1.0)
    assert splines(1024).shape == (1024, 128)
    assert splines(32).shape == (32, 16)


def test_without_noise_a_smooth_density_is_met() -> None:
    cells, truth = np.arange(CELLS), BELL / BELL.sum()
    around = (cells + 3) % CELLS // 8  # nodes of which one goes around the domain's end
    levels = [
        RawLevel(around, np.bincount(around, weights=truth), 1e-10),
        RawLevel(cells // 16, np.bincount(cells // 16, weights=truth), 1e-10),
    ]
    fit = SmoothFit.of(CELLS, levels)
    np.testing.assert_allclose(fit.cumulative[1:], np.cumsum(truth), atol=2e-4)
    assert fit.cumulative[-1] == pytest.approx(1.0, abs=1e-4)
    assert (np.diff(fit.cumulative) >= 0).all()


def test_the_band_holds_and_is_narrower_than_the_raw_interval() -> None:
    first, end = np.array([0, 40, 100, 150, 90]), np.array([100, 120, 180, 256, 130])
    before = np.concatenate([[0.0], np.cumsum(BELL / BELL.sum())])
    truth, held, widths = before[end] - before[first], [], []
    for seed in range(30):
        estimate = estimated(BELL, seed=seed)
        fit, raw = estimate.smooth.ranges(first, end), estimate.ranges(first[:, None], end[:, None] - 1)
        (low, high), (raw_low, raw_high) = fit.ends(), raw.ends()
        held.append(((low - 0.002 <= truth) & (truth <= high + 0.002)).mean())
        widths.append((high - low).mean() / (raw_high - raw_low).mean())
    assert np.mean(held) > 0.86
    assert np.mean(widths) < 0.85


def test_answers_have_their_own_band_and_the_raw_value_beside() -> None:
    estimate = estimated(BELL)
    assert estimate.not_smooth is None
    for question in ("range 40 120", "prefix 100", "quantile 0.5", "cdf 4"):
        for smooth, raw in zip(
            answer(parse_text(question), estimate, postprocess="smooth"), answer(parse_text(question), estimate),
            strict=True,
        ):  # fmt: skip
            table = smooth.table()
            assert (table["postprocess"], table["raw"]) == ("smooth", raw.value)
            assert smooth.low <= smooth.value <= smooth.high
            assert smooth.high - smooth.low <= raw.high - raw.low
            assert smooth.stderr == raw.stderr
            assert "note" not in table


def test_the_guard_gives_isotonic_answers_and_says_why() -> None:
    estimate = estimated(SPIKES)
    for question in ("range 40 120", "quantile 0.5", "cdf 4"):
        for found, isotonic in zip(
            answer(parse_text(question), estimate, postprocess="smooth"),
            answer(parse_text(question), estimate, postprocess="isotonic"), strict=True,
        ):  # fmt: skip
            assert found.table()["note"].startswith("the data are not smooth: a stretch lies ")
            assert {name: value for name, value in found.table().items() if name != "note"} == isotonic.table()


def test_dyadic_intervals_and_their_limit() -> None:
    first, end = looks(1024)
    assert sorted(set((end - first).tolist())) == [1, 2, 4, 8, 16, 32, 64]
    assert misfit_limit(1024) == pytest.approx(4.3, abs=0.01)


@pytest.mark.parametrize(
    "table",
    [
        {"mechanism": "haar", "domain": {"kind": "ordinal", "size": 64}},
        {"mechanism": "hierarchical", "domain": {"kind": "ordinal", "size": 16}},
        {"mechanism": "hierarchical", "domain": {"kind": "ordinal", "size": 64}, "options": {"consistency": False}},
        {"mechanism": "hierarchical", "domain": {"kind": "grid", "sizes": [64, 64]}},
    ],
    ids=["haar", "few cells", "without consistency", "grid"],
)
def test_it_is_refused_where_it_is_not_defined(table: dict[str, Any]) -> None:
    with pytest.raises(SurveyError, match="smooth needs mechanism hierarchical"):
        parse({"name": "s", "epsilon": 1.0, "answers": {"postprocess": "smooth"}, **table})
    mechanism: Any = build({"epsilon": 1.0, **table})
    people = np.zeros((50, 2) if table["domain"]["kind"] == "grid" else 50, dtype=np.int64)
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(people, seeded(1))))
    question = "range 1:3 1:3" if table["domain"]["kind"] == "grid" else "range 1 3"
    with pytest.raises(QueryError, match="smooth needs mechanism hierarchical"):
        answer(parse_text(question), estimate, postprocess="smooth")
