"""Post-processing is asked for by name and labelled, raw values stay; intervals that hold for all cells at once."""

import json
import math
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from hearsay.estimator.snapshots.content import compose
from hearsay.estimator.snapshots.files import write
from hearsay.estimator.snapshots.loading import load
from hearsay.mechanisms import build
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.estimates.postprocess import METHODS, NAMES, isotonic
from hearsay.mechanisms.estimates.simultaneous import critical_value
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.questions import answer, parse_text
from tests.estimator.exact import Exact, exact
from tests.estimator.snapshots.test_files import SCHEMA, VALIDATOR
from tests.estimator.surveys import colours, state_of

# Raw shares of a line: one below zero, one above one, and a sum that is not one.
RAW = [-0.2, 1.1, 0.05, 0.15]
LINE = exact({"kind": "ordinal", "size": 4}, RAW)
GRID = exact({"kind": "grid", "sizes": [2, 2]}, [[-0.2, 1.1], [0.05, 0.15]])


CELL_QUERIES = ("point", "frequencies", "top")
SUM_QUERIES = ("range", "prefix", "cdf")


def ask(estimate: Estimate, text: str, **options: Any) -> list[Answer]:
    return answer(parse_text(text), estimate, **options)


def values(answers: list[Answer]) -> list[float | None]:
    return [each.value for each in answers]


class TestPostprocessing:
    def test_nothing_is_done_unless_asked_for(self) -> None:
        for found in (*ask(LINE, "frequencies"), *ask(LINE, "cdf"), *ask(LINE, "top 2", postprocess="none")):
            assert not {"postprocess", "raw"} & set(found.table())

    def test_clip_cuts_every_share(self) -> None:
        assert values(ask(LINE, "frequencies", postprocess="clip")) == [0.0, 1.0, 0.05, 0.15]
        assert values(ask(LINE, "cdf", postprocess="clip")) == pytest.approx([0.0, 0.9, 0.95, 1.0])
        assert values(ask(GRID, "range 0:1 1:1", postprocess="clip")) == [1.0]

    @pytest.mark.parametrize("method", ["norm-sub", "simplex"])
    def test_shares_become_a_distribution(self, method: str) -> None:
        found = ask(LINE, "frequencies", postprocess=method)
        assert sum(each.value or 0.0 for each in found) == pytest.approx(1.0)
        assert values(found) == pytest.approx([0.0, 0.975, 0.0, 0.025])
        assert values(ask(GRID, "frequencies", postprocess=method)) == values(found)
        assert values(ask(LINE, "point 3", postprocess=method)) == pytest.approx([0.025])

    def test_isotonic_cumulative_shares_never_fall(self) -> None:
        falling = exact({"kind": "ordinal", "size": 4}, [0.4, -0.2, 0.5, 0.3])  # cumulative 0.4, 0.2, 0.7, 1.0
        assert values(ask(falling, "cdf", postprocess="isotonic")) == pytest.approx([0.3, 0.3, 0.7, 1.0])
        assert values(ask(falling, "prefix 0", postprocess="isotonic")) == pytest.approx([0.3])
        assert values(ask(falling, "range 1 1", postprocess="isotonic")) == pytest.approx([0.0])
        assert values(ask(falling, "range 1 2", postprocess="isotonic")) == pytest.approx([0.4])
        (found,) = ask(falling, "quantile 0.35", postprocess="isotonic")
        assert (found.item, found.value, found.raw, found.postprocess) == (2, 2.0, 2.0, "isotonic")
        assert found.band == ask(falling, "quantile 0.35")[0].band

    def test_isotonic_is_the_same_for_mechanisms_with_quick_prefixes(self) -> None:
        haar = build(
            {"mechanism": "haar", "epsilon": 1.0, "domain": {"kind": "ordinal", "low": 0, "high": 1, "bins": 32}}
        )
        state = haar.fold(haar.empty(), haar.perturb(np.arange(3_000) % 32, seeded(1)))
        estimate = haar.estimate(state)
        cumulative = [each.value for each in ask(estimate, "cdf")]
        found = ask(estimate, "cdf", postprocess="isotonic")
        assert values(found) == pytest.approx(isotonic(np.array(cumulative)).tolist())
        assert min(np.diff(values(found))) >= 0 > min(np.diff(cumulative))

    def test_the_label_and_the_raw_value_stand_beside_it(self) -> None:
        (found,) = ask(LINE, "point 0", postprocess="simplex")
        assert found.table() == {
            "query": "point 0", "item": 0, "value": 0.0, "stderr": 0.01, "postprocess": "simplex", "raw": -0.2,
            "low": pytest.approx(-0.2196), "high": pytest.approx(-0.1804),
        }  # fmt: skip

    def test_counts_scale_both(self) -> None:
        (found,) = ask(LINE, "point 1", postprocess="clip", count=True)
        assert (found.value, found.raw, found.stderr) == (1000.0, 1100.0, 10.0)

    @pytest.mark.parametrize("method", METHODS)
    def test_top_keeps_the_order_of_the_raw_values(self, method: str) -> None:
        assert [found.item for found in ask(LINE, "top 4", postprocess=method)] == [1, 3, 2, 0]

    @pytest.mark.parametrize(
        ("estimate", "text", "method", "says"),
        [
            (LINE, "quantile 0.5", "clip", "applies to point, range, prefix, cdf, histogram, frequencies, top"),
            (LINE, "quantile 0.5", "simplex", "got quantile"),
            (GRID, "range 0:1 0:1", "isotonic", "needs one axis, this domain has 2"),
            (LINE, "cdf", "simplex", "postprocess simplex applies to point, frequencies, top, got cdf"),
            (LINE, "range 0 1", "norm-sub", "applies to point, frequencies, top, got range"),
            (LINE, "frequencies", "isotonic", "applies to range, prefix, quantile, cdf, histogram, got frequencies"),
            (
                LINE,
                "point 0",
                "round",
                "postprocess must be one of none, clip, norm-sub, simplex, isotonic, smooth, got 'round'",
            ),
        ],
    )
    def test_what_is_not_defined_is_refused_in_one_line(
        self, estimate: Exact, text: str, method: str, says: str
    ) -> None:
        with pytest.raises(QueryError, match=says) as caught:
            ask(estimate, text, postprocess=method)
        assert len(str(caught.value).splitlines()) == 1

    def test_unknown_shares_have_no_projection(self) -> None:
        unknown = exact({"kind": "ordinal", "size": 2}, [math.nan, 1.0])
        with pytest.raises(QueryError, match="needs a share for every cell"):
            ask(unknown, "frequencies", postprocess="simplex")
        assert values(ask(unknown, "frequencies", postprocess="clip")) == [None, 1.0]
        assert values(ask(unknown, "frequencies", default="simplex")) == [None, 1.0]

    def test_the_surveys_method_is_used_where_it_is_defined_and_can_be_overruled(self) -> None:
        assert ask(LINE, "point 0", default="simplex")[0].postprocess == "simplex"
        assert ask(LINE, "point 0", default="simplex", postprocess="clip")[0].postprocess == "clip"
        assert ask(LINE, "point 0", default="simplex", postprocess="none")[0].table() == ask(LINE, "point 0")[0].table()
        assert ask(LINE, "quantile 0.5", default="simplex") == ask(LINE, "quantile 0.5")
        assert ask(LINE, "range 0 1", default="simplex") == ask(LINE, "range 0 1")
        assert ask(LINE, "frequencies", default="isotonic") == ask(LINE, "frequencies")


class TestSnapshots:
    def test_raw_and_processed_values_are_both_there(self, tmp_path: Path) -> None:
        survey = colours(answers={"postprocess": "simplex"})
        content = compose(survey, "all", state_of(survey, 60))
        write(tmp_path, content)
        document = json.loads((tmp_path / "snapshot.json").read_text())
        VALIDATOR.validate(document)
        assert document["postprocess"] == "simplex"
        assert document["definition"]["answers"]["postprocess"] == "simplex"
        assert content.estimate is not None
        with np.load(tmp_path / "arrays.npz", allow_pickle=False) as arrays:
            assert np.array_equal(arrays["estimate"], content.estimate.estimate), "the estimate stays raw"
            assert arrays["processed"].sum() == pytest.approx(1.0)
            processed = dict(zip(["red", "green", "blue"], arrays["processed"], strict=True))
        for found in document["answers"]:
            assert found["postprocess"] == "simplex"
            assert found["value"] == processed[found["item"]]
            assert found["low"] < found["raw"] < found["high"], "the interval belongs to the raw value"
        assert load(tmp_path).survey.postprocess == "simplex"

    def test_isotonic_deciles_are_labelled_and_cells_stay_raw(self) -> None:
        domain = {"kind": "ordinal", "size": 16}
        survey = colours(mechanism="haar", domain=domain, answers={"postprocess": "isotonic"})
        document = compose(survey, "all", state_of(survey, 400)).document()
        VALIDATOR.validate(document)
        assert document["postprocess"] == "none"
        assert {found["postprocess"] for found in document["answers"]} == {"isotonic"}

    def test_without_a_method_there_is_no_processed_array(self) -> None:
        content = compose(colours(), "all", state_of(colours(), 60))
        assert content.document()["postprocess"] == "none"
        assert "processed" not in content.arrays()

    def test_withheld_is_withheld(self) -> None:
        survey = colours(answers={"postprocess": "clip", "minimum_reports": 100})
        document = compose(survey, "all", state_of(survey, 60)).document()
        VALIDATOR.validate(document)
        assert document["postprocess"] == "none"
        assert document["arrays"] == []

    def test_row_13_a_withheld_state_is_not_kept_and_the_schema_says_so(self) -> None:
        """Row 13 of an attacker's list: the schema said that it is kept."""
        survey = colours(answers={"minimum_reports": 100})
        document = compose(survey, "all", state_of(survey, 60)).document()
        kept = {**document, "arrays": [{"name": "state/hist", "dtype": "int64", "shape": [3]}]}
        with pytest.raises(jsonschema.ValidationError):
            VALIDATOR.validate(kept)
        assert "the state is kept" not in VALIDATOR.schema["properties"]["withheld"]["description"]

    def test_the_factor_for_all_cells_is_named(self) -> None:
        document = compose(colours(), "all", state_of(colours(), 60)).document()
        assert document["simultaneous"] == {
            "confidence": 0.95, "method": "sidak", "cells": 3, "factor": critical_value(3),
        }  # fmt: skip


class TestSimultaneous:
    @pytest.mark.parametrize("text", ["frequencies", "top 2", "cdf"])
    def test_wider_by_a_factor_that_counts_every_cell(self, text: str) -> None:
        for found in ask(LINE, text, simultaneous=True):
            assert found.simultaneous is not None
            low, high = found.table()["simultaneous"]
            assert found.value is not None
            assert found.stderr is not None
            assert (high - low) / 2 == pytest.approx(critical_value(4) * found.stderr)
            assert (high + low) / 2 == pytest.approx(found.value)
        assert all("simultaneous" not in found.table() for found in ask(LINE, text))

    def test_around_the_raw_value_and_scaled(self) -> None:
        found = ask(LINE, "frequencies", simultaneous=True, postprocess="simplex", count=True)[0]
        assert found.simultaneous == pytest.approx((-200 - 10 * critical_value(4), -200 + 10 * critical_value(4)))

    def test_unknown_errors_have_no_interval(self) -> None:
        unknown = exact({"kind": "ordinal", "size": 2}, [0.5, 0.5], stderr=math.inf)
        assert ask(unknown, "frequencies", simultaneous=True)[0].table()["simultaneous"] == [None, None]

    @pytest.mark.parametrize("text", ["point 1", "range 0 1", "prefix 2", "quantile 0.5"])
    def test_single_answers_have_none(self, text: str) -> None:
        with pytest.raises(QueryError, match="simultaneous applies to cdf, histogram, frequencies, top, got"):
            ask(LINE, text, simultaneous=True)

    def test_all_cells_are_covered_at_once(self) -> None:
        """400 surveys of 32 cells: pointwise intervals all hold in about 0.95^32 = 19%, simultaneous ones in 95%."""
        mechanism = build({"mechanism": "grr", "epsilon": 2.0, "domain": {"kind": "categorical", "size": 32}})
        cells = np.repeat(np.arange(32), 100)
        pointwise = together = 0
        for seed in range(400):
            state = mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(seed)))
            found = ask(mechanism.estimate(state), "frequencies", simultaneous=True)
            pointwise += all(each.low <= 1 / 32 <= each.high for each in found)  # type: ignore[operator]
            ends = [each.table()["simultaneous"] for each in found]
            together += all(low <= 1 / 32 <= high for low, high in ends)
        # A binomial of 400 with p = 0.95 is below 354 less than once in a million; with p = 0.25 never above 160.
        assert together >= 354
        assert pointwise <= 160


class TestPage:
    PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "queries.md").read_text(encoding="utf-8")

    def test_every_query_method_and_field_is_explained(self) -> None:
        for kind in (*CELL_QUERIES, *SUM_QUERIES, "quantile"):
            assert re.search(rf"^\| `{kind}[ `]", self.PAGE, re.MULTILINE), kind
        for method in NAMES:
            assert f"| `{method}` |" in self.PAGE
        fields = SCHEMA["$defs"]["answer"]["properties"]
        assert all(f"`{field}`" in self.PAGE for field in fields)

    def test_the_factors_shown_are_those_used(self) -> None:
        cells, factors = re.findall(r"^\| (?:cells|factor) \|(.*)\|$", self.PAGE, re.MULTILINE)
        for count, factor in zip(cells.split("|"), factors.split("|"), strict=True):
            assert float(factor) == round(critical_value(int(count.replace(",", ""))), 3)
