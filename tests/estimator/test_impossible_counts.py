"""Row 10 of an attacker's list: nothing is answered from counts that no set of reports produces, live or stored."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hearsay.collector.survey.survey import Survey, parse
from hearsay.estimator.answering import ask
from hearsay.estimator.errors import SnapshotError
from hearsay.estimator.live import Sum
from hearsay.estimator.snapshots.content import compose
from hearsay.estimator.snapshots.files import checksum, write
from hearsay.estimator.snapshots.loading import load
from hearsay.mechanisms.errors import ImpossibleCounts
from hearsay.mechanisms.exact.randomness import seeded
from tests.mechanisms.shared import ALL_CASES, Case, skewed_cells


def survey(mechanism: str = "grr", size: int = 4) -> Survey:
    domain = {"kind": "categorical", "size": size}
    return parse({"name": "colours", "mechanism": mechanism, "epsilon": 1.0, "domain": domain})


def state_of(mechanism: Any, reports: int = 400) -> dict[str, Any]:
    state: dict[str, Any] = mechanism.empty()
    return mechanism.fold(state, mechanism.perturb(skewed_cells(mechanism, reports), seeded(3)))  # type: ignore[no-any-return]


@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: case.name)
def test_row_10_what_reports_make_is_possible_and_counts_below_0_are_not(case: Case) -> None:
    mechanism = case.build()
    state = state_of(mechanism)
    mechanism.check_state(state)
    mechanism.check_state(mechanism.empty())
    for name, array in state.items():
        wrong = {**state, name: array.copy()}
        wrong[name].reshape(-1)[0] = -(10**6)
        if name.rpartition("/")[2] == "sum" and not any(part.endswith("count") for part in state):
            continue  # a sum of numbers, which may be any
        with pytest.raises(ImpossibleCounts, match="the counts are impossible, no set of reports produces them: "):
            mechanism.check_state(wrong)


@pytest.mark.parametrize(
    ("mechanism", "change", "reason"),
    [
        ("hrr", {"count": 1}, "sums do not fit the number of reports counted"),
        ("hrr", {"sum": 10_000}, "sums are further from 0 than reports were counted"),
        ("oue", {"ones": 10_000}, "array ones has more than there are reports"),
        ("grr", {"hist": -1_000}, "array hist has counts below 0"),
    ],
)
def test_row_10_a_live_query_says_that_the_counts_are_impossible(
    mechanism: str, change: dict[str, int], reason: str
) -> None:
    colours = survey(mechanism)
    state = state_of(colours.mechanism)
    for name, by in change.items():
        state[name].reshape(-1)[0] += by
    found = Sum(colours, state, (), 4)
    with pytest.raises(ImpossibleCounts, match=reason):
        ask(colours, 400, found.estimate, "frequencies")


def test_row_10_a_snapshot_with_negative_counts_and_a_new_checksum_is_refused(tmp_path: Path) -> None:
    """It answered -32.6 +- 0.18."""
    colours = survey()
    state = state_of(colours.mechanism)
    state["hist"][:2] += np.array([-5_000, 5_000])
    content = compose(survey(), "all", state_of(survey().mechanism))
    write(tmp_path, content)
    arrays = {**content.arrays(), "state/hist": state["hist"]}
    np.savez(tmp_path / "arrays.npz", **arrays)
    document = json.loads((tmp_path / "snapshot.json").read_text())
    document["checksum"] = checksum(document, tmp_path / "arrays.npz")
    (tmp_path / "snapshot.json").write_text(json.dumps(document))
    with pytest.raises(SnapshotError, match="the counts are impossible, no set of reports produces them"):
        load(tmp_path)
