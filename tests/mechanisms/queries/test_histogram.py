"""Shares of equal stretches: each as `range` answers it, as many as the noise allows."""

import numpy as np
import pytest

from hearsay.collector.survey.survey import parse
from hearsay.mechanisms.catalogue import parse_domain
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.queries.histogram import LEAST, MOST, VISIBLE, WIDE, choices
from hearsay.mechanisms.questions import answer, parse_text

LINE = {"kind": "ordinal", "size": 1000}
GRID = {"kind": "grid", "sizes": [30, 64]}


def estimate(mechanism: str, domain: dict, values: np.ndarray) -> Estimate:
    survey = parse({"name": "x", "mechanism": mechanism, "epsilon": 1.1, "domain": domain})
    built = survey.mechanism
    return built.estimate(built.fold(built.empty(), built.perturb(values, seeded(3))))


def bell(reports: int, size: int = 1000) -> np.ndarray:
    drawn = np.random.default_rng(1).normal(0.4, 0.1, reports)
    return np.clip((drawn * size).astype(int), 0, size - 1)


def ask(of: Estimate, question: str, **options: object) -> list:
    return answer(parse_text(question), of, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", [None, "clip", "isotonic"])
def test_every_stretch_is_answered_as_its_range(method: str | None) -> None:
    of = estimate("haar", LINE, bell(5_000))
    stretches = ask(of, "histogram 7", postprocess=method)
    assert [each.item for each in stretches][:2] == [[0, 141], [142, 284]]
    assert stretches[-1].item[1] == 999
    for each in stretches:
        (same,) = ask(of, f"range {each.item[0]} {each.item[1]}", postprocess=method)
        assert (same.value, same.stderr, same.low, same.high) == (each.value, each.stderr, each.low, each.high)


def test_boxes_of_a_grid_name_their_ends() -> None:
    values = np.stack([bell(3_000, 30), bell(3_000, 64)], axis=1)
    of = estimate("haar", GRID, values)
    boxes = ask(of, "histogram 3 4")
    assert len(boxes) == 12
    assert boxes[5].cell == {"axis1": [10, 19], "axis2": [16, 31]}
    (same,) = ask(of, "range 10:19 16:31")
    assert (same.value, same.low) == (boxes[5].value, boxes[5].low)
    assert len(ask(of, "histogram 4")) == 16  # one number counts for every axis


@pytest.mark.parametrize("reports", [10, 1_000, 20_000, 300_000])
@pytest.mark.parametrize("mechanism", ["haar", "flat"])
def test_the_resolution_follows_the_noise(mechanism: str, reports: int) -> None:
    of = estimate(mechanism, LINE, bell(reports))
    chosen = ask(of, "histogram")

    def visible(answers: list) -> bool:
        return max(each.value for each in answers) >= VISIBLE * np.median([(a.high - a.low) / 2 for a in answers])

    assert LEAST <= len(chosen) <= MOST
    tried = [number for (number,) in choices(of.domain)]  # type: ignore[arg-type]
    assert tried == [250, 125, 50, 40, 20, 8, 4]
    assert visible(chosen) or len(chosen) == LEAST
    for finer in tried[: tried.index(len(chosen))]:
        assert not visible(ask(of, f"histogram {finer}"))


def test_a_short_axis_shows_all_its_cells() -> None:
    of = estimate("haar", {"kind": "ordinal", "size": 3}, np.array([0, 1, 1, 2] * 500))
    assert [each.item for each in ask(of, "histogram")] == [[0, 0], [1, 1], [2, 2]]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("histogram 0", "whole number in 1..1000, got 0"),
        ("histogram 1001", "whole number in 1..1000, got 1001"),
        ("histogram many", "got many"),
        ("histogram 3 3", "one number for each of 1 axes"),
        ("cdf 0", "whole number"),
        ("cdf 3 4", "at most 1 argument"),
    ],
)
def test_a_bad_number_is_refused(question: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        ask(estimate("haar", LINE, bell(100)), question)


def test_unordered_values_are_referred_to_frequencies() -> None:
    of = estimate("grr", {"kind": "categorical", "size": 4}, np.array([0, 1, 2, 3]))
    with pytest.raises(
        QueryError, match=r"categorical; this survey answers point, frequencies, top \(such as: top 10\)$"
    ):
        ask(of, "histogram")


def test_a_thinned_cdf_has_the_answers_of_prefixes() -> None:
    of = estimate("haar", LINE, bell(5_000))
    ends = ask(of, "cdf 4", postprocess="isotonic")
    assert [each.item for each in ends] == [249, 499, 749, 999]
    for each in ends:
        (same,) = ask(of, f"prefix {each.item}", postprocess="isotonic")
        assert same.value == pytest.approx(each.value, abs=1e-12)
        assert same.low == each.low
    assert len(ask(of, "cdf 5000")) == len(ask(of, "cdf")) == 1000


def test_a_range_says_what_it_covers() -> None:
    (line,) = ask(estimate("haar", LINE, bell(100)), "range 3 9")
    assert line.item == [3, 9]
    (prefix,) = ask(estimate("haar", LINE, bell(100)), "prefix 9")
    assert prefix.item == [0, 9]


@pytest.mark.parametrize("reports", [3_000, 30_000, 300_000, 1_000_000])
def test_narrow_bars_are_equally_wide(reports: int) -> None:
    """82 ages in 32 bars were two or three ages wide by turns, and so high."""
    ages = {"kind": "ordinal", "first": 18, "last": 99}
    values = np.random.default_rng(7).integers(0, 82, reports)
    answers = ask(estimate("hierarchical", ages, values), "histogram")
    widths = {each.item[1] - each.item[0] + 1 for each in answers[:-1]}
    assert len(widths) == 1 or min(widths) >= WIDE


def test_wide_bars_are_equally_wide_if_a_number_near_allows_it() -> None:
    hundred = parse_domain({"kind": "ordinal", "size": 100})
    assert [number for (number,) in choices(hundred)][-4:] == [25, 20, 10, 4]
    prime = parse_domain({"kind": "ordinal", "size": 10_007})
    assert [number for (number,) in choices(prime)] == [256, 128, 64, 32, 16, 8, 4]
