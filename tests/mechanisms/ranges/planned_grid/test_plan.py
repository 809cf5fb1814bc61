"""How often a tuple is asked: the least error there is, spelled out in a survey and read back."""

from typing import Any

import numpy as np
import pytest

from hearsay.collector.survey.survey import parse
from hearsay.mechanisms import build
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.ranges.hierarchical.grid import HierarchicalGrid
from hearsay.mechanisms.ranges.hierarchical.planned_level import PARTS
from hearsay.mechanisms.ranges.planned_grid.grid import PlannedGrid
from hearsay.mechanisms.ranges.planned_grid.plan import MAXIMUM_BOXES, MAXIMUM_TUPLES, PlannedTuple, plan
from tests.mechanisms.ranges.planned_grid.dense import least_squares, owners
from tests.mechanisms.ranges.planned_grid.test_grid import grid

WORKLOADS = ["all", "prefix", "short", "long"]


@pytest.mark.parametrize(
    "sizes", [(16, 16), (7, 9), (2, 32), (5, 6, 7), (64, 64, 64), (256, 256, 64), (4,) * 8], ids=str
)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_plans_keep_the_limits_and_hold_the_finest_tuple(sizes: tuple[int, ...], workload: str) -> None:
    chosen = plan(sizes, 1.1, workload)
    boxes = [each.boxes for each in chosen]
    assert sum(each.parts for each in chosen) == PARTS
    assert min(each.parts for each in chosen) >= 1
    assert len(set(boxes)) == len(boxes) <= MAXIMUM_TUPLES
    assert sum(int(np.prod(each)) for each in boxes) <= MAXIMUM_BOXES
    assert boxes[-1] == tuple(1 << (size - 1).bit_length() for size in sizes)
    assert (1,) * len(sizes) not in boxes


def test_no_other_shares_are_better() -> None:
    """Moving devices from one tuple to another raises the mean variance of all rectangles, by dense least squares."""
    mechanism = grid([4, 8])
    weights_of_queries = rectangles([4, 8]) @ owners(mechanism.axes)
    planned = [each.parts for each in mechanism.plan]
    least = mean_variance(mechanism, planned, weights_of_queries)
    generator = np.random.default_rng(1)
    for _ in range(30):
        moved = np.array(planned) * np.exp(generator.normal(scale=0.5, size=len(planned)))
        assert mean_variance(mechanism, (moved * PARTS / moved.sum()).tolist(), weights_of_queries) > 0.9995 * least


def rectangles(sizes: list[int]) -> np.ndarray:
    """Between any two cells of every axis, both included."""
    along = []
    for size in sizes:
        cells = np.arange(size)
        x, y = np.minimum.outer(cells, cells).reshape(-1, 1), np.maximum.outer(cells, cells).reshape(-1, 1)
        along.append(((cells >= x) & (cells <= y)).astype(float))
    return np.kron(along[0], along[1])


def mean_variance(mechanism: PlannedGrid, parts: list[float], queries: np.ndarray) -> float:
    """By the oracles' variance for evenly filled boxes, with one report in all."""
    inference = mechanism._inference([1] * len(parts))
    noise = tuple(each._replace(scale=PARTS / part) for each, part in zip(inference.noise, parts, strict=True))
    inference = type(inference)(inference.heights, inference.asked, noise)
    total = 0.0
    for weights, each in zip(least_squares(inference), noise, strict=True):
        total += each.contrast_variance(weights.shape[1]) * float(((queries @ weights) ** 2).sum())
    return total / len(queries)


def test_a_workload_is_served_best_by_its_own_plan() -> None:
    def error(workload: str, short: bool) -> float:
        mechanism = grid([128, 128], workload=workload)
        return mechanism.predicted_stderr(100_000)["point" if short else "range"]

    assert error("short", True) < 0.8 * error("all", True)
    assert error("all", False) < error("short", False)


def test_the_choice_is_spelled_out_and_read_back() -> None:
    table = {"name": "a", "mechanism": "hierarchical", "epsilon": 1.1, "domain": {"kind": "grid", "sizes": [6, 9]}}
    survey = parse(table)
    options = survey.mechanism.canonical_options()
    assert list(options) == ["consistency", "levels"]
    again = parse({**table, "options": options})
    assert again.tag == survey.tag
    assert again.mechanism.canonical_options() == options
    assert isinstance(again.mechanism, PlannedGrid)
    assert isinstance(survey.mechanism, PlannedGrid)
    assert (again.mechanism.levels.thresholds == survey.mechanism.levels.thresholds).all()
    assert again.mechanism.layout == survey.mechanism.layout


@pytest.mark.parametrize(
    "options",
    [{"levels": "uniform"}, {"fanout": 2}, {"oracle": "olh"}, {"fanout": 4, "oracle": "auto", "consistency": True}],
    ids=str,
)
def test_uniform_levels_are_what_they_were(options: dict[str, Any]) -> None:
    made = build(
        {"mechanism": "hierarchical", "epsilon": 1.1, "domain": {"kind": "grid", "sizes": [6, 9]}, "options": options}
    )
    assert isinstance(made, HierarchicalGrid)
    assert made.canonical_options()["levels"] == "uniform"
    assert (np.diff(made.levels.probabilities) < 1e-12).all()


def test_a_file_that_leaves_the_levels_open_is_content_with_uniform_ones_registered_before() -> None:
    open_, uniform, other = grid([6, 9]), grid_of(levels="uniform"), grid_of(fanout=2)
    assert open_.asks_the_same(uniform)
    assert not open_.asks_the_same(other)
    assert not grid([6, 9], levels="optimised").asks_the_same(uniform)
    assert not grid([6, 9], epsilon=1.2).asks_the_same(uniform)


def grid_of(**options: Any) -> Any:
    return build(
        {"mechanism": "hierarchical", "epsilon": 1.1, "domain": {"kind": "grid", "sizes": [6, 9]}, "options": options}
    )


def test_texts_of_tuples() -> None:
    assert PlannedTuple.parse("4x16 olh 300") == ((4, 16), "olh", 300)
    assert str(PlannedTuple((1, 2, 8), "grr", 7)) == "1x2x8 grr 7"
    assert PlannedTuple((1, 2, 8), "grr", 7).levels == (0, 1, 3)


@pytest.mark.parametrize(
    ("sizes", "options", "message"),
    [
        ([4], {}, "at least two axes for hierarchical on a grid, got 1"),
        (
            [4096, 4097],
            {},
            "at most 16777216 cells, each axis padded to a power of two, for hierarchical, got 33554432",
        ),
        ([4] * 9, {}, "domain must have at most 8192 tuples of binary levels for hierarchical, got 19683"),
        ([4, 4], {"levels": "best"}, r'options\.levels must be "uniform", "optimised" or a list of tuples'),
        ([4, 4], {"levels": ["4 olh 4096"]}, r'must hold texts like "4x16 olh 300" on a grid .* got \'4 olh 4096\''),
        ([4, 4], {"levels": ["3x4 olh 4096"]}, "powers of two"),
        ([4, 4], {"levels": ["1x1 grr 1", "4x4 olh 4095"]}, "powers of two"),
        ([4, 4], {"levels": ["4x4 olh 0"]}, "parts of the devices"),
        ([4, 4], {"levels": ["4x8 olh 4096"]}, "tuples of at most 4x4 boxes, got 4x8 as number 1"),
        ([4, 4], {"levels": ["4x4x2 olh 4096"]}, "tuples of at most 4x4 boxes, got 4x4x2 as number 1"),
        ([4, 4], {"levels": ["2x4 olh 4096"]}, "every tuple once, and among them 4x4, the finest one"),
        ([4, 4], {"levels": ["4x4 olh 96", "4x4 grr 4000"]}, "every tuple once"),
        ([4, 4], {"levels": ["4x4 olh 4096"], "workload": "short"}, r"options\.workload goes with"),
        (
            [4, 4],
            {"levels": ["4x4 olh 4096"], "fanout": 2},
            r'options\.levels must be "uniform" on a grid where fanout',
        ),
        ([4, 4], {"consistency": False}, r"options\.consistency must be true"),
    ],
)
def test_what_it_cannot_do_is_refused(sizes: list[int], options: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecificationError, match=message) as caught:
        build(
            {
                "mechanism": "hierarchical",
                "epsilon": 1.1,
                "domain": {"kind": "grid", "sizes": sizes},
                "options": options,
            }
        )
    assert "\n" not in str(caught.value)
