"""As many stretches as the noise allows: on five kinds of data, from a thousand reports to ten million."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.base import State, merge
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.planning.drawn_states import draw, draw_values
from hearsay.mechanisms.queries.histogram import LEAST, MOST, MOST_BOXES, VISIBLE
from hearsay.mechanisms.questions import answer, parse_text

LINE = {"kind": "ordinal", "size": 1024}
GRID = {"kind": "grid", "sizes": [64, 64]}
DATA = ("bell", "two peaks", "zipf", "uniform", "point mass")


def shares(data: str, size: int) -> Floats:
    at, cell = (np.arange(size) + 0.5) / size, np.arange(size)
    weights = {
        "bell": np.exp(-(((at - 0.5) / 0.12) ** 2) / 2),
        "two peaks": np.exp(-(((at - 0.3) / 0.06) ** 2) / 2) + np.exp(-(((at - 0.75) / 0.08) ** 2) / 2),
        "zipf": 1 / (1 + cell),
        "uniform": np.ones(size),
        "point mass": (cell == size // 3).astype(float),
    }[data]
    chosen: Floats = weights / weights.sum()
    return chosen


def state_of(mechanism: Any, data: str, reports: int, generator: np.random.Generator) -> State:
    sizes = mechanism.domain.shape
    joint = shares(data, sizes[0])
    for size in sizes[1:]:
        joint = np.multiply.outer(joint, shares(data, size))
    holders = generator.multinomial(reports, joint.reshape(-1))
    if len(sizes) == 1:
        return draw(mechanism, holders, generator)
    cells = np.repeat(np.arange(holders.size), holders)
    return draw_values(mechanism, np.stack(np.unravel_index(cells, sizes), axis=1), generator)


def is_visible(estimate: Any, along: int) -> bool:
    """The rule, from answers as everybody gets them."""
    words = " ".join(str(min(along, size)) for size in estimate.domain.shape)
    answers = answer(parse_text(f"histogram {words}"), estimate)
    halves = [(each.high - each.low) / 2 for each in answers if each.high is not None and each.low is not None]
    return max(each.value or 0.0 for each in answers) >= VISIBLE * float(np.median(halves))


def chosen_along(estimate: Any) -> int:
    return round(len(answer(parse_text("histogram"), estimate)) ** (1 / len(estimate.domain.shape)))


def check_rule(estimate: Any) -> int:
    """The largest power of two whose tallest stretch is visible, never below 4; all coarser ones need not be."""
    axes = len(estimate.domain.shape)
    along, most = chosen_along(estimate), MOST if axes == 1 else round(MOST_BOXES ** (1 / axes))
    assert along & (along - 1) == 0
    assert LEAST <= along <= most
    assert along == LEAST or is_visible(estimate, along)
    finer = along * 2
    while finer <= most:
        assert not is_visible(estimate, finer), finer
        finer *= 2
    return along


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(
    ("name", "domain", "most"),
    [
        ("flat", LINE, 7),
        ("metric-l1", LINE, 7),
        ("haar", LINE, 5),
        ("hierarchical", LINE, 4),
        ("haar", GRID, 4),
        pytest.param("haar", LINE, 7, marks=pytest.mark.slow),
        pytest.param("hierarchical", LINE, 7, marks=pytest.mark.slow),
        pytest.param("haar", GRID, 6, marks=pytest.mark.slow),
    ],
)
def test_the_rule_holds(name: str, domain: dict[str, Any], most: int, data: str) -> None:
    mechanism = catalogue.create(name, 1.0, catalogue.parse_domain(domain), {})
    generator = np.random.default_rng([6, most])
    choices = [
        check_rule(mechanism.estimate(state_of(mechanism, data, 10**power, generator))) for power in range(3, most + 1)
    ]
    # Ten times the reports show at least as much, but for chance where the tallest stretch is just at the limit.
    assert all(later >= earlier / 2 for earlier, later in pairwise(choices)), choices
    if data == "point mass":
        assert choices[-1] == (MOST if "size" in domain else 64)


def growing(name: str, data: str, reports: int, steps: int = 16) -> list[tuple[int, int]]:
    """Reports and the rule's choice, while they double in so many steps."""
    mechanism = catalogue.create(name, 1.0, catalogue.parse_domain(LINE), {})
    generator, total = np.random.default_rng([8, reports]), reports
    state = state_of(mechanism, data, reports, generator)
    seen = [(total, chosen_along(mechanism.estimate(state)))]
    while total < 8 * reports:
        more = round(total * (2 ** (1 / steps) - 1))
        merge(state, state_of(mechanism, data, more, generator))
        total += more
        seen.append((total, chosen_along(mechanism.estimate(state))))
    return seen
