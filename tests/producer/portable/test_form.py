"""A form says exactly what its mechanism does: the same channel, the same cells, the same epsilon."""

import subprocess
import sys
from math import isclose
from typing import Any

import numpy as np
import pytest

from hearsay.collector.describe.device_form import device_form, form
from hearsay.collector.survey.survey import Survey, parse
from hearsay.collector.wire.codec import codec
from hearsay.errors import HearsayError
from hearsay.mechanisms import catalogue
from hearsay.mechanisms.errors import NotPortable, ValueOutsideDomain
from hearsay.producer.errors import FormError
from hearsay.producer.portable.cells import CellReader
from hearsay.producer.portable.described import Described
from hearsay.producer.portable.form import Form
from hearsay.producer.portable.words import WORD, Words
from tests.producer.portable.enumerated import distribution
from tests.producer.portable.given_words import GivenWords

MOST_WAYS = 1 << 13  # ways in which the draws of a report can come out
PORTABLE = {
    *("grr", "sue", "oue", "hrr", "olh", "flat", "haar", "hierarchical", "metric-l1", "binary", "channel"),
    *("gm", "em", "um", "wm", "lp"),
}


def examples() -> list[Any]:
    """Every example of every mechanism that ships."""
    return [
        pytest.param({"name": "small", "mechanism": name, **example}, id=f"{name}-{number}")
        for name in sorted(catalogue.shipped())
        for kind in catalogue.classes(name)
        for number, example in enumerate(kind.EXAMPLES)
    ]


@pytest.mark.parametrize("table", examples())
def test_the_form_has_the_mechanism_s_channel(table: dict[str, Any]) -> None:
    survey = parse(table)
    answer = device_form(survey)
    if answer["device"] is None:
        with pytest.raises(NotPortable, match="use Python's Device"):
            form(survey)
        assert "use Python's Device" in answer["device_reason"]
        return
    read = Form.of(answer["device"])
    mechanism = survey.mechanism
    if mechanism.layout.outcomes > MOST_WAYS:
        return
    listed = codec(mechanism).encode_singles(mechanism.layout.enumerate())
    channel = mechanism.channel()
    size, many = mechanism.domain.size, mechanism.layout.outcomes > 1_000
    for cell in sorted({0, size // 2, size - 1}) if many else range(size):
        chances = distribution(read, cell)
        assert set(chances) <= set(listed)
        assert sum(chances.values()) == 1
        drawn = np.array([float(chances.get(report, 0)) for report in listed])
        np.testing.assert_allclose(drawn, channel[cell], rtol=1e-12, atol=1e-18)


def described(survey: Survey) -> dict[str, Any]:
    """What a gateway answers beside the form."""
    participation = survey.participation.describe(survey.epsilon, survey.windows, survey.mechanism.memoised_buckets)
    guarantee = survey.mechanism.guarantee.table()
    return {
        **{"definition": survey.canonical(), "tag": survey.tag},
        **{"guarantee": guarantee, "participation": participation},
    }


def test_a_small_device_counts_the_survey_s_epsilon_and_no_noise_of_floats() -> None:
    for parameter in examples():
        (table,) = parameter.values
        for epsilon in (0.001, 1.1, 3.7):
            try:
                survey = parse({**table, "epsilon": epsilon})  # type: ignore[dict-item]
            except HearsayError:  # an example whose options need another epsilon
                continue
            answer = device_form(survey)
            if answer["device"] is not None:
                assert Described.of({**described(survey), **answer}).epsilon == survey.epsilon


def test_these_mechanisms_have_a_form() -> None:
    having = set()
    for parameter in examples():
        (table,) = parameter.values
        if device_form(parse(table))["device"] is not None:  # type: ignore[arg-type]
            having.add(table["mechanism"])  # type: ignore[index]
    assert having == PORTABLE


@pytest.mark.parametrize("name", ["grr", "sue", "oue", "hrr", "olh", "flat", "haar", "hierarchical", "um"])
def test_epsilon_is_computed_from_the_thresholds(name: str) -> None:
    survey = parse({"name": "small", "mechanism": name, **catalogue.classes(name)[0].EXAMPLES[0]})
    spent = Form.of(form(survey)).epsilon
    assert isclose(spent, survey.mechanism.spent_epsilon, rel_tol=1e-9)
    assert spent <= survey.mechanism.epsilon * (1 + 1e-9)


def test_a_gateway_that_asks_for_the_truth_is_seen() -> None:
    honest = form(
        parse({"name": "a", "mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 4}})
    )
    honest["draw"]["truth"] = str(WORD)
    assert Form.of(honest).epsilon == float("inf")


def test_draws_of_words() -> None:
    assert GivenWords([4, 5, 6]).coins([5, 5, WORD]) == [True, False, True]
    assert [GivenWords([word]).choose([0, 10, 20]) for word in (0, 9, 10, 19, 20, WORD - 1)] == [1, 1, 2, 2, 3, 3]
    last = WORD - WORD % 10
    assert GivenWords([last, WORD - 1, last - 1]).below(10) == (last - 1) % 10
    assert GivenWords([WORD - 1]).below(8) == 7
    assert {Words().below(3) for _ in range(100)} == {0, 1, 2}
    assert len({Words().take(1)[0] for _ in range(100)}) == 100


@pytest.mark.parametrize(
    "domain",
    [
        {"kind": "ordinal", "first": -3, "last": 4},
        {"kind": "ordinal", "low": 34.0, "high": 42.0, "bins": 80},
        {"kind": "ordinal", "low": -0.3, "high": 0.7, "bins": 7},
        {"kind": "categorical", "categories": ["tea", "coffee", "Ünïcode"]},
    ],
)
def test_values_are_in_the_same_cells(domain: dict[str, Any]) -> None:
    mechanism = parse({"name": "a", "mechanism": "grr", "epsilon": 1.0, "domain": domain}).mechanism
    reader = CellReader.of(mechanism.domain.portable())
    low, high = domain.get("low", -5), domain.get("high", 6)
    steps = 3 * domain.get("bins", 11)
    values: list[Any] = [low + (high - low) * step / steps for step in range(-3, steps + 4)]
    values += [round(value, 1) for value in values] + ["tea", "Ünïcode", "water", "3", None, True, float("nan"), 2, -3]
    outside = 0
    for value in values:
        try:
            cell: int | None = int(mechanism.domain.one(value)[0])  # type: ignore[call-overload, index]
        except ValueOutsideDomain:
            cell = None
        try:
            assert reader.find(value) == cell
        except ValueOutsideDomain:
            outside += 1
            assert cell is None or isinstance(value, str | bool), value
    assert outside > 3


def test_rows_are_read_by_name_and_by_order() -> None:
    table = {"name": "a", "mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "grid", "sizes": [2, 3]}}
    reader = CellReader.of(parse(table).mechanism.domain.portable())
    assert reader.find([1, 2]) == reader.find({"axis2": 2, "axis1": 1}) == 5
    for bad in ([1], {"axis1": 1}, 4, {"axis1": 1, "x": 2}):
        with pytest.raises(ValueOutsideDomain):
            reader.find(bad)


def test_damaged_forms_are_refused() -> None:
    good = form(parse({"name": "a", "mechanism": "haar", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 8}}))
    Form.of(good)
    bad: list[Any] = [None, {}, {**good, "version": 2}, {**good, "axes": []}, {**good, "draw": {"node": "dice"}}]
    bad += [{**good, "draw": {**good["draw"], "ends": ends}} for ends in (["5", "4"], ["5"], [5, 6], ["-1", "3"], None)]
    bad += [{**good, "bytes": {"as": "text"}}, {key: good[key] for key in ("version", "axes", "draw")}]
    for table in bad:
        with pytest.raises(FormError):
            Form.of(table)


def test_a_device_that_follows_a_form_needs_no_numpy() -> None:
    table = form(parse({"name": "a", "mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "binary"}}))
    program = (
        "import sys; sys.modules.update(numpy=None, pydantic=None, redis=None);"
        "from hearsay.producer.portable.form import Form;"
        f"assert len(Form.of({table!r}).report(1)) == 1"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
