"""Area under the ROC curve of a labelled score survey."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.queries.auc import area_under_curve


def survey(epsilon: float, scores: int = 16, label_first: bool = True, mechanism: str = "hierarchical") -> Mechanism:
    axes = [{"name": "label", "categories": ["no", "yes"]}, {"name": "score", "size": scores}]
    domain = {"kind": "grid", "axes": axes if label_first else axes[::-1]}
    options = {"fanout": 2} if mechanism == "hierarchical" else {}
    return build({"mechanism": mechanism, "epsilon": epsilon, "domain": domain, "options": options})


def labelled(count: int, scores: int = 16) -> np.ndarray:
    generator = np.random.default_rng(1)
    label = (generator.random(count) < 0.4).astype(np.int64)
    score = np.clip(generator.normal(scores * (0.4 + 0.15 * label), scores * 0.15), 0, scores - 1).astype(np.int64)
    return np.stack([label, score], axis=1)


def true_area(cells: np.ndarray) -> float:
    negative, positive = cells[cells[:, 0] == 0, 1], cells[cells[:, 0] == 1, 1]
    above = (positive[:, None] > negative[None, :]).mean()
    return float(above + (positive[:, None] == negative[None, :]).mean() / 2)


@pytest.mark.parametrize("name", ["hierarchical", "haar"])
@pytest.mark.parametrize("label_first", [True, False])
def test_area_is_found_without_noise(label_first: bool, name: str) -> None:
    cells = labelled(4_000)
    mechanism = survey(9.0, label_first=label_first, mechanism=name)
    values = cells if label_first else cells[:, ::-1]
    state = mechanism.fold(mechanism.empty(), mechanism.perturb(values, seeded(2)))
    found = area_under_curve(mechanism.estimate(state))
    assert abs(found.value[0] - true_area(cells)) <= 6 * found.stderr[0]
    assert found.stderr[0] < 0.05


@pytest.mark.parametrize("name", ["hierarchical", "haar"])
def test_area_is_as_uncertain_as_stated(name: str) -> None:
    cells, mechanism, random = labelled(6_000), survey(2.0, mechanism=name), seeded(3)
    found = [
        area_under_curve(mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, random))))
        for _ in range(200)
    ]
    error = np.array([each.value[0] for each in found]) - true_area(cells)
    stderr = np.array([each.stderr[0] for each in found])
    assert abs(error.mean()) < 6 * stderr.mean() / np.sqrt(200)
    assert 0.7 < (error**2).mean() / (stderr**2).mean() < 1.4  # the mean of 200 squares varies by a tenth
    assert (np.abs(error) <= 1.96 * stderr).mean() > 0.87


def test_with_a_handful_of_reports_there_is_no_area() -> None:
    mechanism = survey(1.0)
    state = mechanism.fold(mechanism.empty(), mechanism.perturb(labelled(3), seeded(4)))
    with pytest.raises(QueryError, match="auc needs"):
        area_under_curve(mechanism.estimate(state))


def test_other_surveys_have_no_area() -> None:
    one_axis = build({"mechanism": "haar", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 8}})
    with pytest.raises(QueryError, match="auc needs a grid"):
        area_under_curve(one_axis.estimate(one_axis.empty()))


def test_an_area_of_a_label_that_nobody_seems_to_hold_is_not_told() -> None:
    """One of 300 holds the first label: an area of thousands with a standard error of more is no answer."""
    mechanism: Any = build(
        {"mechanism": "hierarchical", "epsilon": 2.0, "domain": {"kind": "grid", "sizes": [5, 2]}, "options": {}}
    )
    values = np.stack([np.full(300, 2), np.ones(300, dtype=np.int64)], axis=1)
    values[0] = (4, 0)
    told = []
    for seed in range(60):
        found = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(values, seeded(seed))))
        try:
            told.append([float(end[0]) for end in area_under_curve(found).ends()])
        except QueryError:
            continue
    whole = [ends == [0.0, 1.0] for ends in told]
    assert len(told) > 10
    assert np.mean(whole) > 0.8  # a share of a three hundredth looks like more than nobody in 2.5%, or a little more
