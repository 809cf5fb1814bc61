"""Row 2: values on the edge of a bin. Devices, files and queries agree on the bin, which begins at the edge."""

import time
from decimal import Decimal
from typing import Any

import msgpack
import numpy as np
import pytest

from hearsay.collector.survey.survey import parse as parse_survey
from hearsay.mechanisms.catalogue import parse_domain as parse
from hearsay.mechanisms.domains.axis import Axis
from hearsay.mechanisms.errors import QueryError, SpecificationError, ValueOutsideDomain
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.simulate.library import simulate
from hearsay.producer.device import Device

AXES = {
    "temperature": ("34.0", "42.0", 80),
    "below zero": ("-0.7", "0.9", 16),
    "far below zero": ("-1013.3", "-1003.3", 100),
    "tiny bins": ("0.0", "1e-7", 1000),
    "tiny bins far out": ("1000000.1", "1000000.2", 100_000),
    "many digits": ("0.1234567890123", "0.9876543210987", 1 << 20),
    "huge": ("-1e300", "1e300", 7),
}


def axis_of(low: str, high: str, bins: int) -> Axis:
    return parse({"kind": "ordinal", "low": float(low), "high": float(high), "bins": bins}).axes[0]


def edges(low: str, high: str, bins: int) -> tuple[np.ndarray, list[Decimal]]:
    """Some bins, and where each begins, in exact decimals as far as they go."""
    chosen = np.unique(np.linspace(0, bins - 1, min(bins, 500)).astype(int))
    first, last = Decimal(low), Decimal(high)
    return chosen, [first + (last - first) * int(index) / bins for index in chosen]


@pytest.mark.parametrize("name", AXES)
def test_a_value_on_an_edge_falls_into_the_bin_that_begins_there(name: str) -> None:
    axis = axis_of(*AXES[name])
    chosen, starts = edges(*AXES[name])
    as_text = [str(start) for start in starts]
    as_floats = [float(start) for start in starts]
    for given in (as_text, as_floats, np.array(as_floats), [np.float64(start) for start in as_floats]):
        assert axis.encode(given).tolist() == chosen.tolist()
    assert [axis.locate(text) for text in as_text] == chosen.tolist()
    assert axis.encode([axis.item(int(index))[0] for index in chosen]).tolist() == chosen.tolist()


def test_all_eighty_edges_of_a_thermometer_are_right_however_they_were_computed() -> None:
    axis, bins = axis_of(*AXES["temperature"]), np.arange(80)
    for given in (34 + bins * 0.1, np.linspace(34, 42, 81)[:-1], bins / 10 + 34, (340 + bins) / 10):
        assert axis.encode(given).tolist() == bins.tolist()
        assert axis.encode(given.astype(np.float32)).tolist() == bins.tolist()
    assert axis.encode([f"{34 + index / 10:.1f}" for index in bins]).tolist() == bins.tolist()


def test_short_floats_are_compared_in_their_own_precision() -> None:
    axis = axis_of("34.1", "42.1", 80)
    assert axis.encode(np.array([34.1, 35.3, 42.1], dtype=np.float32)).tolist() == [0, 12, 79]
    assert axis.encode([np.float32(34.1), np.float32(35.3)]).tolist() == [0, 12]


@pytest.mark.parametrize("name", AXES)
def test_the_last_bin_holds_its_upper_end_and_a_value_inside_a_bin_stays_there(name: str) -> None:
    low, high, bins = AXES[name]
    axis = axis_of(low, high, bins)
    assert axis.encode([high]).tolist() == [bins - 1]
    chosen, starts = edges(low, high, bins)
    width = (Decimal(high) - Decimal(low)) / bins
    for part in ("0.01", "0.5", "0.99"):
        assert axis.encode([float(start + width * Decimal(part)) for start in starts]).tolist() == chosen.tolist()
    with pytest.raises(ValueOutsideDomain):
        axis.encode([float(Decimal(high) + width / 2)])


def test_random_values_fall_between_the_ends_of_their_bin() -> None:
    axis = axis_of("-3.3", "7.7", 110)
    values = np.random.default_rng(1).uniform(-3.3, 7.7, 100_000)
    found = axis.encode(values)
    starts = np.array([axis.item(index)[0] for index in range(110)] + [7.7])  # type: ignore[index]
    assert (values >= starts[found] - 1e-9).all()
    assert (values < starts[found + 1]).all()


def test_queries_take_the_bins_that_devices_use() -> None:
    axis = axis_of(*AXES["temperature"])
    for index in range(80):
        start, end = f"{34 + index / 10:.1f}", f"{34 + (index + 1) / 10:.1f}"
        assert axis.locate_range(start, end) == (index, index)
        assert axis.locate_range(start, start) == (index, index)
        assert axis.locate_range(None, end) == (0, index)
    assert axis.locate_range("34", "42") == (0, 79)
    assert axis.locate_range("35.25", "35.35") == (12, 13)
    assert axis.locate_range("41.95", "42") == (79, 79)
    with pytest.raises(QueryError, match="reversed"):
        axis.locate_range("35.36", "35.35")
    with pytest.raises(QueryError, match=r"must be a number in 34\.\.42, got 43"):
        axis.locate_range("35", "43")


def test_a_device_s_own_value_on_an_edge_is_sent_as_the_bin_that_begins_there() -> None:
    """Through the bytes of a report: at this epsilon one in 2^40 is not the bin itself."""
    domain = {"kind": "ordinal", "low": 34.0, "high": 42.0, "bins": 80}
    survey = parse_survey({"name": "temperature", "mechanism": "grr", "epsilon": 32.0, "domain": domain})
    device = Device(survey, seeded(1))
    for index in range(80):
        for value in (34 + index / 10, f"{34 + index / 10:.1f}"):
            assert msgpack.unpackb(device.report(value)) == index


def test_devices_at_an_edge_are_found_by_the_range_that_begins_there() -> None:
    """Everybody at 35.3: the bin from 35.3 holds them, the one before holds nobody."""
    survey = {
        "name": "temperature", "mechanism": "metric-l1", "epsilon": 30.0,
        "domain": {"kind": "ordinal", "low": 34.0, "high": 42.0, "bins": 80},
    }  # fmt: skip
    found = simulate(survey, {"value": ["35.3"] * 5_000}, seed=1)
    assert found.ask("range 35.3 35.4")[0].value == pytest.approx(1.0, abs=0.05)
    assert found.ask("range 35.2 35.3")[0].value == pytest.approx(0.0, abs=0.05)


def test_a_million_values_take_less_than_a_second() -> None:
    axis, values = axis_of(*AXES["temperature"]), np.random.default_rng(2).integers(340, 421, 1_000_000) / 10
    began = time.perf_counter()
    found = axis.encode(values)
    assert time.perf_counter() - began < 1.0
    assert (found == np.minimum(np.rint(values * 10) - 340, 79)).all()


INTEGERS: dict[str, Any] = {"kind": "ordinal", "first": -30, "last": 226}


def test_integers_may_begin_anywhere() -> None:
    domain = parse(INTEGERS)
    assert domain.shape == (257,)
    assert domain.table() == INTEGERS
    assert domain.read({"value": ["-30", 0, 226]}).tolist() == [0, 30, 256]
    assert domain.one(-1).tolist() == [29]
    axis = domain.axes[0]
    assert (axis.item(0), axis.item(256), axis.units(30)) == (-30, 226, 0)
    assert axis.locate_range("-30", "-29") == (0, 1)
    for wrong in (-31, 227, 0.5):
        with pytest.raises(ValueOutsideDomain, match=r"value must be an integer in -30\.\.226"):
            domain.read({"value": [wrong]})


def test_integers_from_zero_keep_their_table() -> None:
    assert parse({"kind": "ordinal", "size": 10}).table() == {"kind": "ordinal", "size": 10}
    assert parse({"kind": "ordinal", "first": 0, "last": 9}).table() == {"kind": "ordinal", "first": 0, "last": 9}


def test_an_axis_of_a_grid_may_begin_anywhere() -> None:
    table = {"kind": "grid", "axes": [{"name": "degrees", "first": -5, "last": 4}, {"name": "x", "size": 3}]}
    domain = parse(table)
    assert domain.table() == table
    assert domain.one({"degrees": -1, "x": 2}).tolist() == [[4, 2]]
    assert domain.name(0) == (None, {"degrees": -5, "x": 0})
    assert domain.locate_range(["-5:-1", "0:2"], "range") == [(0, 4), (0, 2)]


def test_answers_speak_of_the_integers_themselves() -> None:
    survey = {"name": "delay", "mechanism": "haar", "epsilon": 30.0, "domain": INTEGERS}
    found = simulate(survey, {"value": [-7, -7, 100] * 3_000}, seed=1)
    assert found.ask("top 1")[0].item == -7
    assert found.ask("range -30 -1")[0].value == pytest.approx(2 / 3, abs=0.05)
    assert found.ask("quantile 0.5")[0].value == -7
    assert [each.item for each in found.ask("cdf")][:2] == [-30, -29]


def test_weights_that_are_integers_may_begin_anywhere() -> None:
    axes = [{"name": "age", "size": 4}, {"name": "spent", "first": 10, "last": 20}]
    people = {"age": [0, 1, 2, 3] * 5_000, "spent": [10, 12, 20, 11] * 5_000}
    for weights in ("public", "private"):
        survey = {
            "name": "spent", "mechanism": "metric-l1", "epsilon": 8.0,
            "domain": {"kind": "grid", "axes": axes}, "options": {"weights": weights},
        }  # fmt: skip
        (found,) = simulate(survey, people, seed=2).ask("weighted 1 2")
        assert found.value == pytest.approx(8.0, abs=0.5)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"first": 0}, "must have exactly one of"),
        ({"last": 5}, "domain.first must be an integer in"),
        ({"first": 3, "last": 3}, r"domain.first..last must hold 2..\d+ integers, got 3..3"),
        ({"first": 0.5, "last": 3}, "domain.first must be an integer"),
        ({"first": 0, "size": 3}, "domain.first goes with last, not with size"),
        ({"first": 0, "last": 3, "low": 0}, "domain.low goes with bins, not with last"),
        ({"first": 0, "low": 0, "high": 1, "bins": 3}, "domain.first goes with last, not with bins"),
        ({"low": 1e9, "high": 1e9 + 1e-6, "bins": 50}, "domain.bins must be so few that doubles tell their edges"),
    ],
)
def test_what_an_axis_may_not_say(table: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecificationError, match=message):
        parse({"kind": "ordinal", **table})
