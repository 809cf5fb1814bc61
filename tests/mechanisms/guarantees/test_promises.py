"""Privacy as data: matrices, words, tables, and how releases add up."""

import json
from math import inf

import numpy as np
import pytest

from hearsay.mechanisms.catalogue import parse_domain as parse
from hearsay.mechanisms.guarantees.promises import (
    BlockStructured,
    EMatrix,
    Guarantee,
    HighLow,
    LimitedPrecision,
    MetricLp,
    PureLDP,
    in_sequence,
)

FOUR = parse({"kind": "ordinal", "size": 4})
ALL = [
    PureLDP(1.0),
    MetricLp(0.5),
    LimitedPrecision(1.0, 2),
    BlockStructured(1.0, ((0, 3), (1, 2))),
    HighLow(1.0, (1,), "b"),
    EMatrix(((0.0, inf), (1.0, 0.0))),
    in_sequence(PureLDP(1.0), HighLow(1.0, (1,), "b")),
]


@pytest.mark.parametrize("guarantee", ALL, ids=lambda guarantee: type(guarantee).__name__)
def test_every_guarantee_has_words_and_a_table_that_is_json(guarantee: Guarantee) -> None:
    assert len(guarantee.words()) > 30
    assert json.loads(json.dumps(guarantee.table(), allow_nan=False))["kind"]


def test_limited_precision_adds_an_epsilon_for_every_further_step() -> None:
    assert LimitedPrecision(0.7, 2).matrix(FOUR)[0].tolist() == [0.0, 0.7, 0.7, 1.4]


def test_blocks_promise_nothing_between_blocks() -> None:
    bound = BlockStructured(1.0, ((0, 3), (1, 2))).matrix(FOUR)
    assert bound.tolist() == [[0, inf, inf, 1], [inf, 0, 1, inf], [inf, 1, 0, inf], [1, inf, inf, 0]]


def test_high_low_is_asymmetric() -> None:
    bound = HighLow(1.0, (1,), "b").matrix(FOUR)
    assert bound[1].tolist() == [1.0, 0.0, 1.0, 1.0]
    assert bound[0].tolist() == [0.0, inf, inf, inf]


def test_releases_about_one_value_add_up() -> None:
    assert in_sequence(PureLDP(0.25), PureLDP(0.5)) == PureLDP(0.75)
    assert in_sequence(MetricLp(1.0)) == MetricLp(1.0)
    assert in_sequence(MetricLp(1.0, 2.0, (0.5,)), MetricLp(0.25, 2.0, (0.5,))) == MetricLp(1.25, 2.0, (0.5,))
    both = in_sequence(MetricLp(1.0), MetricLp(0.5, inf)).matrix(FOUR)
    assert both[0].tolist() == [0.0, 1.5, 3.0, 4.5]
    mixed = in_sequence(PureLDP(1.0), MetricLp(0.5), HighLow(2.0, (1,), "b")).matrix(FOUR)
    assert mixed[1].tolist() == [3.5, 0.0, 3.5, 4.0]
    assert np.isinf(mixed[0, 1:]).all()


def test_a_matrix_says_how_many_pairs_it_protects() -> None:
    matrix = EMatrix(((0.0, inf), (1.5, 0.0)))
    assert matrix.largest == 1.5
    assert "1 of the 2 ordered pairs" in matrix.words()
    assert matrix.table()["matrix"] == [[0.0, "inf"], [1.5, 0.0]]
