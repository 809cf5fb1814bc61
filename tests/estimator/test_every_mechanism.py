"""Every example of every registered mechanism passes through snapshot and queries."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hearsay.collector.survey.survey import Survey, parse
from hearsay.estimator.snapshots.content import compose
from hearsay.estimator.snapshots.files import write
from hearsay.estimator.snapshots.loading import load
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.postprocess import NAMES
from hearsay.mechanisms.questions import answer, parse_text
from tests.estimator.snapshots.test_files import VALIDATOR
from tests.estimator.surveys import state_of
from tests.mechanisms.shared import CASES, Case


def survey_of(case: Case) -> Survey:
    return parse({"name": "example", **case.table})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_snapshot_keeps_the_exact_state(case: Case, tmp_path: Path) -> None:
    survey = survey_of(case)
    content = compose(survey, "all", state_of(survey, 400))
    read = load(write(tmp_path, content))
    VALIDATOR.validate(json.loads((tmp_path / "snapshot.json").read_text()))
    assert read.survey.tag == survey.tag
    assert list(read.state) == list(survey.mechanism.arrays)
    for name, array in content.state.items():
        assert np.array_equal(read.state[name], array)
    assert content.answers


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_queries_are_answered_or_refused_in_one_line(case: Case) -> None:
    survey = survey_of(case)
    domain = survey.mechanism.domain
    estimate = survey.mechanism.estimate(state_of(survey, 400))
    items = [axis.item(0) for axis in domain.axes]
    words = [str(item[0] if isinstance(item, list) else item) for item in items]
    ends = [f"{word}:{word}" for word in words] if domain.kind == "grid" else [words[0], words[0]]
    answered = set()
    for kind, arguments in (
        ("point", words), ("range", ends), ("prefix", words[:1]), ("quantile", ["0.5"]), ("cdf", []),
        ("frequencies", []), ("top", ["2"]),
    ):  # fmt: skip
        text = " ".join([kind, *(f"'{argument}'" for argument in arguments)])
        try:
            found = answer(parse_text(text), estimate)
        except QueryError as error:
            assert len(str(error).splitlines()) == 1  # noqa: PT017
            continue
        json.dumps([each.table() for each in found], allow_nan=False)
        assert all(each.stderr is not None and each.stderr >= 0 for each in found)
        answered.add(kind)
    assert {"point", "frequencies", "top"} <= answered
    if not domain.ORDERED:
        assert answered == {"point", "frequencies", "top"}
    if survey.mechanism.ID in ("haar", "hierarchical", "metric-l1"):
        assert "range" in answered
        assert domain.kind == "grid" or {"prefix", "quantile", "cdf"} <= answered


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_processed_answers_keep_what_is_raw(case: Case, method: str) -> None:
    survey = survey_of(case)
    estimate = survey.mechanism.estimate(state_of(survey, 400))
    for text in ("frequencies", "top 2", "cdf", "quantile 0.3 0.6"):
        try:
            raw = answer(parse_text(text), estimate)
            found = answer(parse_text(text), estimate, postprocess=method)
        except QueryError as error:
            assert len(str(error).splitlines()) == 1  # noqa: PT017
            continue
        for before, after in zip(raw, found, strict=True):
            assert (after.unbiased, after.stderr, after.low) == (before.value, before.stderr, before.low)
            assert after.postprocess == (None if method == "none" else method)
        if method != "none" and not text.startswith("quantile"):
            assert all(after.value is not None and 0 <= after.value <= 1 for after in found)
        if text == "cdf" and method == "isotonic":
            assert all(a.value <= b.value for a, b in pairwise(found))  # type: ignore[operator]
