import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearsay.mechanisms import build
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.questions import answer, parse, parse_text
from tests.estimator.exact import Exact, exact

FIVE = exact({"kind": "ordinal", "size": 5}, [0.1, 0.2, 0.4, 0.2, 0.1])
METRES = exact({"kind": "ordinal", "low": 0.0, "high": 1.0, "bins": 10}, [0.1] * 10)
COLOURS = exact({"kind": "categorical", "categories": ["red", "light blue", "green"]}, [0.2, 0.5, 0.3])
SEASONS = exact({"kind": "ordinal", "categories": ["dry", "mild", "wet"]}, [0.2, 0.5, 0.3])
GRID = exact(
    {"kind": "grid", "axes": [{"name": "x", "size": 2}, {"name": "y", "low": -1, "high": 2, "bins": 3}]},
    [[0.1, 0.2, 0.1], [0.3, 0.2, 0.1]],
)


def one(estimate: Exact, text: str) -> Answer:
    (found,) = answer(parse_text(text), estimate)
    return found


def refusal(estimate: Exact, text: str, **options: object) -> str:
    with pytest.raises(QueryError) as caught:
        answer(parse_text(text), estimate, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestAnswers:
    def test_an_interval_is_symmetric_and_unclipped(self) -> None:
        found = Answer("point 0", 0.01, 0.1)
        assert found.low == pytest.approx(0.01 - 0.196)
        assert found.high == pytest.approx(0.01 + 0.196)

    def test_unknown_is_null_never_nan(self) -> None:
        unknown = exact({"kind": "ordinal", "size": 2}, [math.nan, 1.0])
        assert one(unknown, "point 0").table() == {
            "query": "point 0", "item": 0, "value": None, "stderr": 0.01, "low": None, "high": None,
        }  # fmt: skip
        assert "NaN" not in json.dumps([found.table() for found in answer(parse_text("frequencies"), unknown)])

    def test_fields_that_do_not_apply_are_absent(self) -> None:
        assert set(one(FIVE, "range 1 3").table()) == {"query", "item", "value", "stderr", "low", "high"}


class TestOneAxis:
    def test_point(self) -> None:
        assert one(FIVE, "point 2").table() == {
            "query": "point 2", "item": 2, "value": 0.4, "stderr": 0.01,
            "low": pytest.approx(0.4 - 0.0196), "high": pytest.approx(0.4 + 0.0196),
        }  # fmt: skip

    def test_range_is_inclusive(self) -> None:
        found = one(FIVE, "range 1 3")
        assert found.value == pytest.approx(0.8)
        assert found.stderr == pytest.approx(0.01 * math.sqrt(3))
        assert one(FIVE, "range 2 2").value == pytest.approx(0.4)

    def test_prefix_and_cdf_agree(self) -> None:
        cdf = answer(parse_text("cdf"), FIVE)
        assert [found.item for found in cdf] == [0, 1, 2, 3, 4]
        for end, found in enumerate(cdf):
            assert found.value == pytest.approx(one(FIVE, f"prefix {end}").value)

    def test_frequencies_are_in_domain_order_and_top_by_value(self) -> None:
        assert [found.item for found in answer(parse_text("frequencies"), COLOURS)] == ["red", "light blue", "green"]
        assert [found.item for found in answer(parse_text("top 2"), COLOURS)] == ["light blue", "green"]
        assert len(answer(parse_text("top 99"), COLOURS)) == 3

    def test_equal_values_come_in_domain_order_and_unknown_ones_last(self) -> None:
        tied = exact({"kind": "ordinal", "size": 6}, [0.1, 0.3, math.nan, 0.3, 0.2, 0.3])
        for wanted in range(1, 8):
            items = [found.item for found in answer(parse_text(f"top {wanted}"), tied)]
            assert items == [1, 3, 5, 4, 0, 2][:wanted]

    def test_labels_with_spaces_are_quoted_as_in_a_shell(self) -> None:
        assert one(COLOURS, "point 'light blue'").value == 0.5
        assert parse_text(parse(["point", "light blue"]).text) == parse(["point", "light blue"])

    def test_ordered_labels_have_ranges_and_quantiles(self) -> None:
        assert one(SEASONS, "range dry mild").value == pytest.approx(0.7)
        assert one(SEASONS, "quantile 0.5").item == "mild"

    def test_count_scales_to_reports(self) -> None:
        (found,) = answer(parse_text("range 1 3"), FIVE, count=True)
        assert found.value == pytest.approx(800)
        assert found.stderr == pytest.approx(10 * math.sqrt(3))
        assert "count does not apply to quantile" in refusal(FIVE, "quantile 0.5", count=True)


class TestContinuous:
    @pytest.mark.parametrize(
        ("text", "value", "item"),
        [
            ("range 0.3 0.7", 0.4, [0.3, 0.7]),  # on the boundaries: exactly the bins between them
            ("range 0.35 0.65", 0.4, [0.3, 0.7]),  # inside bins: whole bins
            ("range 0 1", 1.0, [0.0, 1.0]),
            ("range 0.3 0.3", 0.1, [0.3, 0.4]),
            ("range 1 1", 0.1, [0.9, 1.0]),
            ("prefix 0.5", 0.5, [0.0, 0.5]),
            ("prefix 0", 0.1, [0.0, 0.1]),
        ],
    )
    def test_ranges_say_what_they_cover(self, text: str, value: float, item: list[float]) -> None:
        found = one(METRES, text)
        assert found.value == pytest.approx(value)
        assert found.item == pytest.approx(item)

    def test_a_point_is_its_bin(self) -> None:
        assert one(METRES, "point 0.25").item == pytest.approx([0.2, 0.3])

    def test_the_cdf_names_upper_ends(self) -> None:
        assert [found.item for found in answer(parse_text("cdf"), METRES)] == pytest.approx(np.arange(1, 11) / 10)


class TestQuantiles:
    def test_value_and_band_are_in_the_domains_units(self) -> None:
        (found,) = answer(parse_text("quantile 0.55"), METRES)
        assert found.value == pytest.approx(0.55)
        assert found.item == pytest.approx([0.5, 0.6])
        assert found.band is not None
        assert found.band[0] <= 0.5
        assert found.band[1] >= 0.6

    def test_the_symmetric_interval_covers_the_band(self) -> None:
        wide = exact({"kind": "ordinal", "size": 100}, np.r_[[0.5], np.full(99, 0.5 / 99)], stderr=0.003)
        for found in answer(parse_text("quantile 0.2 0.5 0.7 0.99"), wide):
            assert found.band is not None
            assert found.low is not None
            assert found.high is not None
            assert found.low - 1e-9 <= found.band[0] <= found.value <= found.band[1] <= found.high + 1e-9
            assert found.rank_stderr is not None
            assert found.rank_stderr > 0

    def test_several_at_once_are_named_one_by_one(self) -> None:
        assert [found.query for found in answer(parse_text("quantile 0.25 0.5"), FIVE)] == [
            "quantile 0.25",
            "quantile 0.5",
        ]


class TestGrid:
    def test_point_names_every_axis(self) -> None:
        found = one(GRID, "point 1 0.5")
        assert found.value == pytest.approx(0.2)
        assert found.cell == {"x": 1, "y": [0.0, 1.0]}

    def test_range_is_one_pair_for_each_axis(self) -> None:
        found = one(GRID, "range 0:1 -1:1")
        assert found.value == pytest.approx(0.8)
        assert found.cell == {"x": [0, 1], "y": [-1.0, 1.0]}

    def test_labels_may_hold_colons(self) -> None:
        hours = exact({"kind": "grid", "axes": [{"categories": ["9:00", "9:30"]}]}, [0.4, 0.6])
        assert one(hours, "range 9:00:9:30").value == pytest.approx(1.0)

    def test_frequencies_are_row_major(self) -> None:
        found = answer(parse_text("frequencies"), GRID)
        assert [answered.value for answered in found] == pytest.approx([0.1, 0.2, 0.1, 0.3, 0.2, 0.1])
        assert found[1].cell == {"x": 0, "y": [0.0, 1.0]}


class TestRefusals:
    @pytest.mark.parametrize(
        ("estimate", "text", "says"),
        [
            (FIVE, "", "got nothing"),
            (FIVE, "median", "query must be one of mean, means"),
            (FIVE, "average", "query must be one of"),
            (FIVE, "mean", "cannot answer mean, which needs the mean of the values or means of keys"),
            (FIVE, "mean", "number has it; on domains of kind ordinal use metric-l1, with metric privacy instead"),
            (FIVE, "marginal a", "needs a domain of kind attributes"),
            (FIVE, "point", "needs an argument"),
            (FIVE, "point 1 2", "needs one value, got 2"),
            (FIVE, "point 5", "must be an integer in 0..4, got 5"),
            (FIVE, "point 1.5", "must be an integer"),
            (FIVE, "point nan", "must be an integer"),
            (FIVE, "range 1", "two ends"),
            (FIVE, "range 3 1", "must not be reversed"),
            (FIVE, "range 1 9", "must be an integer in 0..4, got 9"),
            (METRES, "range 0.32 0.31", "must not be reversed"),
            (METRES, "range -0.1 0.5", "must be a number in 0..1"),
            (FIVE, "quantile 0", "above 0 and below 1, got 0"),
            (FIVE, "quantile 0.5 1", "above 0 and below 1, got 1"),
            (FIVE, "quantile 0.\u0665", "above 0 and below 1, got"),
            (FIVE, "point \u0663", "must be an integer in 0..4, got"),
            (FIVE, "quantile nan", "above 0 and below 1"),
            (FIVE, "quantile x", "above 0 and below 1"),
            (FIVE, "frequencies 3", "takes no argument"),
            (FIVE, "top 0", "whole number in 1..999999999"),
            (FIVE, "top -3", "whole number in 1..999999999"),
            (FIVE, "top 1 2", "takes one argument"),
            (FIVE, "point 'a", "closed quotes"),
            (FIVE, "point 'a\nb'", "no control characters"),
            (FIVE, "point a\u2028b", "no control characters"),
            (FIVE, "point \udcff", "no control characters"),
            (COLOURS, "range red green", "needs an ordered domain"),
            (COLOURS, "prefix red", "needs an ordinal domain"),
            (COLOURS, "quantile 0.5", "needs an ordinal domain"),
            (COLOURS, "point pink", "must be one of red, light blue, green, got pink"),
            (GRID, "range 0:1", "one A:B for each of x, y"),
            (GRID, "range 0 1", "must be A:B"),
            (GRID, "range 0:1:1 0:1", "must be A:B"),
            (GRID, "range 1:0 0:1", "must not be reversed"),
            (GRID, "cdf", "needs an ordinal domain"),
        ],
    )
    def test_one_clear_line(self, estimate: Exact, text: str, says: str) -> None:
        assert says in refusal(estimate, text)

    def test_no_reports_and_too_few(self) -> None:
        nothing = exact({"kind": "ordinal", "size": 2}, [0, 0], reports=0)
        assert refusal(nothing, "frequencies", minimum_reports=100) == "no reports yet"
        assert "withheld until there are 1001 reports, got 1000" in refusal(FIVE, "cdf", minimum_reports=1001)
        assert answer(parse_text("cdf"), FIVE, minimum_reports=1000)

    def test_a_limit_of_answers(self) -> None:
        assert "has 5 answers, at most 4" in refusal(FIVE, "frequencies", limit=4)
        assert len(answer(parse_text("frequencies"), FIVE, limit=5)) == 5

    def test_a_mechanism_without_ranges_says_which_have_them(self) -> None:
        hrr = build({"mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 4}})
        state = hrr.fold(hrr.empty(), hrr.perturb(np.zeros(50, dtype=np.int64), seeded(1)))
        with pytest.raises(QueryError, match="on domains of kind ordinal use flat, haar, hierarchical"):
            answer(parse_text("range 0 2"), hrr.estimate(state))

    def test_a_kind_that_has_it_is_named_where_auto_finds_none(self) -> None:
        haar = build({"mechanism": "haar", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 4}})
        state = haar.fold(haar.empty(), haar.perturb(np.zeros(50, dtype=np.int64), seeded(1)))
        with pytest.raises(QueryError, match=r"a survey of kind .* or number has it; .* use metric-l1"):
            answer(parse_text("mean"), haar.estimate(state))

    @given(st.text(max_size=40))
    def test_any_text_is_answered_or_refused_in_one_line(self, text: str) -> None:
        for estimate in (FIVE, METRES, COLOURS, GRID):
            message = ""
            try:
                answer(parse_text(text), estimate)
            except QueryError as error:
                message = str(error)
            assert len(message.splitlines()) <= 1

    @given(
        st.sampled_from(["point", "range", "prefix", "quantile", "top"]),
        st.lists(st.text(alphabet="0123456789.-:einf_ ", max_size=8), max_size=3),
    )
    def test_odd_numbers_are_answered_or_refused(self, kind: str, arguments: list[str]) -> None:
        for estimate in (FIVE, METRES, COLOURS, GRID):
            try:
                found = answer(parse([kind, *arguments]), estimate)
            except QueryError:
                continue
            assert json.dumps([answered.table() for answered in found], allow_nan=False) != "[]"
