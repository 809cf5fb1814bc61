"""Count surveys: domain, options, canonical form, promise."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from hearsay.collector.survey.survey import parse
from hearsay.mechanisms import build
from hearsay.mechanisms.counts.mechanism import CountMechanism
from hearsay.mechanisms.counts.packing import pack
from hearsay.mechanisms.counts.properties import properties_of
from hearsay.mechanisms.errors import SpecificationError, ValueOutsideDomain
from hearsay.mechanisms.exact.randomness import WORD
from hearsay.mechanisms.guarantees.promises import LimitedPrecision, MetricLp, PureLDP
from hearsay.mechanisms.oracles.finite_channel import broken_pair
from hearsay.mechanisms.planning.auto import resolve


def table(name: str, largest: Any = 6, epsilon: float = 0.5, **options: Any) -> dict[str, Any]:
    return {"mechanism": name, "epsilon": epsilon, "domain": {"kind": "count", "max": largest}, "options": options}


def made(*given: Any, **options: Any) -> CountMechanism:
    mechanism = build(table(*given, **options))
    assert isinstance(mechanism, CountMechanism)
    return mechanism


SURVEYS = [
    ("gm", {}), ("em", {}), ("um", {}), ("wm", {}), ("em", {"tie": "l1"}), ("lp", {"properties": ["WH", "CM"]}),
    ("lp", {"objective": "L1"}), ("lp", {"objective": "max-L2", "properties": ["F"]}), ("lp", {"local": True}),
    ("lp", {"within": 2, "properties": ["WH"]}), ("lp", {"weights": [3, 1, 1, 1, 1, 1, 1], "properties": ["WH"]}),
    ("lp", {"objective": "L1", "workload": ["mean", "at-least:5"], "properties": ["WH"]}),
    ("lp", {"properties": ["CDP"]}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), SURVEYS, ids=str)
def test_every_matrix_is_exactly_what_it_promises(name: str, options: dict[str, Any]) -> None:
    mechanism = made(name, 6, 0.5, **options)
    assert all(sum(row) == WORD for row in mechanism.weights)
    assert broken_pair(mechanism.weights, mechanism.guarantee.matrix(mechanism.domain)) is None
    assert mechanism.design.promise.kept(mechanism.whole)
    properties = properties_of(mechanism.channel().T, mechanism.design.promise.ratio, tolerance=1e-7)
    assert mechanism.design.asked <= set(properties)
    assert mechanism.spent_epsilon <= 0.5
    if name != "um":
        assert mechanism.spent_epsilon > 0.5 * (1 - 1e-7)
    kind = PureLDP if options.get("local") else LimitedPrecision if "within" in options else MetricLp
    assert isinstance(mechanism.guarantee, kind)


def test_canonical_surveys_need_no_solver_and_have_the_same_tag() -> None:
    surveys = [parse({"name": "a", **table(name, 6, 0.5, **options)}) for name, options in SURVEYS]
    for survey, (name, options) in zip(surveys, SURVEYS, strict=True):
        solved = name in ("wm", "lp") or "tie" in options
        assert ("matrix" in survey.canonical()["options"]) == solved
    program = (
        "import sys, json; from hearsay import Device; from hearsay.collector.survey.survey import parse\n"
        "for table in json.load(sys.stdin): Device(table).report(3); print(parse(table).tag)\n"
        "print('scipy' in sys.modules)"
    )
    given = json.dumps([survey.canonical() for survey in surveys])
    done = subprocess.run([sys.executable, "-c", program], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [*(survey.tag for survey in surveys), "False"]


def test_a_canonical_survey_of_sixty_four_stays_small() -> None:
    mechanism = made("wm", 64, 0.3)
    assert len(mechanism.canonical_options()["matrix"]) < 23_000
    with pytest.raises(SpecificationError, match=r"domain.max must be at most 64 for mechanism wm"):
        made("wm", 65)
    assert made("gm", 200).domain.size == 201


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"largest": 0}, r"domain.max must be an integer in 1..200, got 0"),
        ({"largest": 201}, r"domain.max must be an integer in 1..200, got 201"),
        ({"largest": "8"}, r"domain.max must be an integer"),
        ({"properties": ["XX"]}, r"options.properties must hold RH, RM, .* got 'XX'"),
        ({"properties": "WH"}, r"options.properties must be a list"),
        ({"objective": "L7"}, r"options.objective must be"),
        ({"weights": [1, 2]}, r"options.weights must have 7 numbers"),
        ({"weights": [0] * 7}, r"options.weights must have 7 numbers, one per count and not all 0, got only 0"),
        ({"weights": [-1] * 7}, r"options.weights must hold numbers >= 0, got -1"),
        ({"within": 0}, r"options.within must be an integer in 1..200"),
        ({"within": 2, "local": True}, r"options.within goes with neighbouring counts"),
        ({"workload": ["mode"]}, r"options.workload must have questions"),
        ({"matrix": "AAAA"}, r"options.matrix must be the text"),
        ({"matrix": 7}, r"options.matrix must be a text"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], message: str) -> None:
    largest = changes.pop("largest", 6)
    with pytest.raises(SpecificationError, match=message):
        made("lp", largest, 0.5, **changes)


def test_a_matrix_that_does_not_keep_the_promise_or_lacks_a_property_is_refused() -> None:
    text = pack(made("gm", 6, 0.5).whole)
    with pytest.raises(SpecificationError, match=r"options.matrix must keep the promise"):
        made("lp", 6, 0.49, matrix=text)
    assert made("lp", 6, 0.5, matrix=text).canonical_options()["matrix"] == text
    with pytest.raises(SpecificationError, match=r"lacks CH, CM"):
        made("lp", 6, 0.5, matrix=text, properties=["CH", "CM", "S"])
    with pytest.raises(SpecificationError, match=r"lacks CM"):
        made("wm", 6, 0.5, matrix=text)


def test_counts_outside_are_refused_and_never_shown() -> None:
    domain = made("gm", 6).domain
    for wrong in (7, -1, 2.5, "many"):
        with pytest.raises(ValueOutsideDomain, match=r"value must be an integer in 0..6") as caught:
            domain.one(wrong)
        assert str(wrong) not in str(caught.value).replace("0..6", "")
    assert domain.one(6).tolist() == [6]
    assert domain.table() == {"kind": "count", "max": 6}
    with pytest.raises(SpecificationError, match=r"domain has the unknown key 'size'"):
        build({"mechanism": "gm", "epsilon": 1.0, "domain": {"kind": "count", "max": 3, "size": 4}})
    with pytest.raises(SpecificationError, match=r"domain.max is missing"):
        build({"mechanism": "gm", "epsilon": 1.0, "domain": {"kind": "count"}})


@pytest.mark.parametrize(("epsilon", "chosen"), [(0.1, "metric-l1"), (0.3, "metric-l1"), (1.0, "gm"), (3.0, "gm")])
def test_auto_picks_by_predicted_variance(epsilon: float, chosen: str) -> None:
    """metric-l1 has the same guarantee and less error for ranges where epsilon is small."""
    resolved, reason = resolve({"mechanism": "auto", "epsilon": epsilon, "domain": {"kind": "count", "max": 8}})
    assert resolved["mechanism"] == chosen
    assert all(name in reason for name in ("gm", "em", "metric-l1"))
    errors = {
        name: build({**resolved, "mechanism": name, "options": {}}).predicted_stderr(1_000)["range"]
        for name in ("gm", "em", "metric-l1")
    }
    assert errors[chosen] <= 1.05 * min(errors.values())


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.7, 1.0, 2.0])
@pytest.mark.parametrize("largest", [2, 4, 8, 16])
def test_wm_is_no_candidate_since_gm_is_never_worse(largest: int, epsilon: float) -> None:
    gm, wm = (made(name, largest, epsilon).predicted_stderr(1_000) for name in ("gm", "wm"))
    assert all(gm[kind] <= wm[kind] * (1 + 1e-9) for kind in ("point", "range", "mean"))


def test_local_is_generalised_randomised_response() -> None:
    channel = made("lp", 6, 0.5, local=True).channel()
    grr = build({"mechanism": "grr", "epsilon": 0.5, "domain": {"kind": "categorical", "size": 7}}).channel()
    np.testing.assert_allclose(channel, grr, atol=1e-7)
