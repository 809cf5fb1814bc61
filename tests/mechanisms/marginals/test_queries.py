"""Questions about attributes: their answers' shape, their names, their refusals; models by name."""

import json
from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.marginals.domain import AttributeDomain
from hearsay.mechanisms.questions import answer, headline, parse_text
from tests.mechanisms.marginals.shared import METHODS

NAMES = {
    "kind": "attributes",
    "attributes": [
        {"name": "smokes", "categories": ["no", "yes"]},
        {"name": "age group", "categories": ["young", "old", "very old"]},
        {"name": "sport", "categories": ["no", "yes"]},
        {"name": "coin"},
    ],
    "order": 2,
}


def people(count: int = 150_000) -> np.ndarray:
    generator = np.random.default_rng(5)
    age = generator.choice(3, count, p=[0.4, 0.35, 0.25])
    smokes = generator.random(count) < np.array([0.6, 0.3, 0.1])[age]
    sport = generator.random(count) < np.where(smokes, 0.2, 0.6)
    coin = generator.random(count) < 0.5
    return np.stack([smokes, age, sport, coin], axis=1).astype(np.int64)


@pytest.fixture(scope="module")
def estimate() -> Any:
    mechanism = build({"mechanism": "inp-ht", "epsilon": 1.5, "domain": NAMES})
    return mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(people(), seeded(2))))


@pytest.fixture(scope="module")
def exact() -> Any:
    return build({"mechanism": "inp-ht", "epsilon": 1.5, "domain": NAMES}).exact(people())


def ask(estimate: Any, text: str, **options: Any) -> list[dict[str, Any]]:
    return [each.table() for each in answer(parse_text(text), estimate, **options)]


def test_a_marginal_is_row_major_in_the_order_named(estimate: Any, exact: Any) -> None:
    found = ask(estimate, "marginal 'age group' smokes")
    assert [each["cell"] for each in found][:3] == [
        {"age group": "young", "smokes": "no"},
        {"age group": "young", "smokes": "yes"},
        {"age group": "old", "smokes": "no"},
    ]
    assert len(found) == 6
    for each, true in zip(found, ask(exact, "marginal 'age group' smokes"), strict=True):
        assert abs(each["value"] - true["value"]) < 6 * each["stderr"]
        assert each["low"] == pytest.approx(each["value"] - 1.96 * each["stderr"])
        assert true["stderr"] == pytest.approx(0.0, abs=1e-9)
    assert sum(each["value"] for each in found) == pytest.approx(1.0)
    assert ask(estimate, "marginal smokes", count=True)[0]["value"] == pytest.approx(
        150_000 * ask(estimate, "marginal smokes")[0]["value"]
    )


def test_intervals_hold_together_for_the_cells_of_the_table(estimate: Any) -> None:
    small = ask(estimate, "marginal smokes", simultaneous=True)[0]
    large = ask(estimate, "marginal 'age group' smokes", simultaneous=True)[0]
    factors = [(each["simultaneous"][1] - each["value"]) / each["stderr"] for each in (small, large)]
    assert factors == pytest.approx([2.236, 2.631], abs=0.002)  # two and six cells, by Sidak


def test_tables_agree_with_each_other(estimate: Any) -> None:
    pair = ask(estimate, "marginal smokes sport")
    alone = ask(estimate, "marginal smokes")
    assert pair[0]["value"] + pair[1]["value"] == pytest.approx(alone[0]["value"])


@pytest.mark.parametrize("method", ["clip", "norm-sub", "simplex", "consistency", "maxent", "tree"])
def test_processed_tables_are_labelled_beside_the_raw_ones(estimate: Any, exact: Any, method: str) -> None:
    raw = ask(estimate, "marginal sport smokes")
    found = ask(estimate, "marginal sport smokes", postprocess=method)
    for before, after, true in zip(raw, found, ask(exact, "marginal sport smokes"), strict=True):
        assert after["postprocess"] == method
        assert (after["raw"], after["stderr"]) == (before["value"], before["stderr"])
        assert abs(after["value"] - true["value"]) < 8 * before["stderr"]


@pytest.mark.parametrize("method", ["maxent", "tree"])
def test_more_attributes_than_were_collected_are_a_model(estimate: Any, exact: Any, method: str) -> None:
    found = ask(estimate, "marginal smokes sport 'age group'", postprocess=method)
    assert len(found) == 12
    assert sum(each["value"] for each in found) == pytest.approx(1.0)
    assert all(each["raw"] is None and each["stderr"] is None and each["low"] is None for each in found)
    values = people()
    cells = np.ravel_multi_index((values[:, 0], values[:, 2], values[:, 1]), (2, 2, 3))
    truth = np.bincount(cells, minlength=12) / len(values)
    assert np.abs(np.array([each["value"] for each in found]) - truth).sum() / 2 < 0.05  # the truth is a chain


def test_a_conditional_is_a_share_of_those_who_hold_it(estimate: Any, exact: Any) -> None:
    found = ask(estimate, "conditional smokes given 'age group'")
    assert [each["cell"]["smokes"] for each in found] == ["no"] * 3 + ["yes"] * 3
    for place in range(3):
        assert found[place]["value"] + found[place + 3]["value"] == pytest.approx(1.0)
    for each, true in zip(found, ask(exact, "conditional smokes given 'age group'"), strict=True):
        assert abs(each["value"] - true["value"]) < 6 * each["stderr"]
        assert 0 <= each["low"] <= each["value"] <= each["high"] <= 1


def test_association_has_two_p_values_and_the_information(estimate: Any) -> None:
    found = ask(estimate, "association smokes sport")
    assert [each["item"] for each in found] == ["p-value", "naive-p-value", "mutual-information"]
    assert found[0]["value"] < 1e-6
    assert found[2]["low"] <= found[2]["value"] <= found[2]["high"]
    assert found[2]["low"] > 0
    nothing = ask(estimate, "association coin sport")
    assert nothing[0]["value"] > 1e-4
    assert nothing[2]["low"] == pytest.approx(0.0, abs=0.002)


def test_correlations_name_every_pair(estimate: Any, exact: Any) -> None:
    found = ask(estimate, "correlations")
    assert len(found) == 6
    assert found[0]["cell"] == {"first": "smokes", "second": "age group"}
    pearson = next(each for each in found if each["cell"] == {"first": "smokes", "second": "sport"})
    values = people()
    assert abs(pearson["value"] - np.corrcoef(values[:, 0], values[:, 2])[0, 1]) < 6 * pearson["stderr"]
    assert all(-1.1 <= each["value"] <= 1.1 for each in ask(exact, "correlations"))


def test_the_tree_has_the_pairs_that_depend_on_each_other(estimate: Any, exact: Any) -> None:
    found, true = ask(estimate, "tree"), ask(exact, "tree")
    assert len(found) == 3
    strong = [frozenset(each["cell"].values()) for each in found[:2]]
    assert set(strong) == {frozenset({"smokes", "age group"}), frozenset({"smokes", "sport"})}
    assert [each["value"] for each in found] == sorted((each["value"] for each in found), reverse=True)
    assert true[0]["low"] <= true[0]["value"] <= true[0]["high"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("marginal", "needs an argument"),
        ("marginal height", "one of smokes, age group, sport, coin, got height"),
        ("marginal smokes smokes", "every attribute once, got smokes twice"),
        ("marginal smokes sport coin", "at most 2 attributes.* got 3; postprocess maxent or tree"),
        ("conditional smokes age", "needs 3 arguments"),
        ("conditional smokes sport coin", "asked as: conditional A... given B..."),
        ("conditional given smokes sport", "asked as"),
        ("conditional smokes coin given sport", "at most 2 attributes"),
        ("association smokes", "needs 2 arguments"),
        ("association smokes smokes", "every attribute once"),
        ("correlations smokes", "takes no argument"),
        (
            "point 1",
            "cannot answer point, which needs shares of single cells.*; .*no mechanism has that"
            "; this survey answers marginal, .*tree.* \\(such as: marginal smokes\\)$",
        ),
        ("histogram 3", r"this one is attributes; this survey answers marginal, .* \(such as: marginal smokes\)$"),
    ],
)
def test_refusals_are_one_line(estimate: Any, text: str, says: str) -> None:
    with pytest.raises(QueryError, match=says) as caught:
        ask(estimate, text)
    assert len(str(caught.value).splitlines()) == 1


def test_methods_of_other_domains_are_named_with_their_queries(estimate: Any) -> None:
    with pytest.raises(QueryError, match="isotonic applies to range, prefix, quantile, cdf, histogram, got marginal"):
        ask(estimate, "marginal smokes", postprocess="isotonic")


@pytest.mark.parametrize("text", ["association smokes sport", "correlations", "tree", "conditional smokes given sport"])
def test_numbers_of_reports_make_no_sense_there(estimate: Any, text: str) -> None:
    with pytest.raises(QueryError, match="count does not apply"):
        ask(estimate, text, count=True)


def test_single_attributes_have_no_pairs() -> None:
    mechanism = build({"mechanism": "inp-ht", "epsilon": 1.0, "domain": {**NAMES, "order": 1}})
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(people(1000), seeded(1))))
    with pytest.raises(QueryError, match="tables of two attributes, this survey has order 1"):
        ask(estimate, "tree")


def test_the_headline_is_every_attribute_and_the_tree(estimate: Any) -> None:
    found = headline(estimate)
    assert [each.query for each in found][:2] == ["marginal smokes", "marginal smokes"]
    assert "tree" in {each.query for each in found}


def test_a_decoder_that_models_says_so() -> None:
    table = {"mechanism": "inp-em", "epsilon": 4.0, "domain": NAMES, "options": {"decoder": "em"}}
    mechanism = build(table)
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(people(), seeded(1))))
    found = ask(estimate, "marginal smokes sport")
    assert {each["postprocess"] for each in found} == {"em"}
    assert all(each["raw"] is None and each["stderr"] is None for each in found)
    assert ask(estimate, "association smokes sport")[0]["value"] is None


def test_auto_takes_characters_and_says_why() -> None:
    from hearsay.mechanisms.planning.auto import resolve

    table, reason = resolve({"mechanism": "auto", "epsilon": 1.1, "domain": NAMES})
    assert table["mechanism"] == "inp-ht"
    assert "a cell of a table" in reason
    assert "code " in reason
    assert "natural" in reason
    few = {"kind": "attributes", "names": ["a", "b", "c"], "order": 3}
    assert resolve({"mechanism": "auto", "epsilon": 3.0, "domain": few})[0]["mechanism"] in ("inp-ps", "marg-ps")


ODD = {
    "kind": "attributes",
    "attributes": [
        {"name": 'what, "this" is it?', "categories": ["a,b", "c\"d'\u00e9 \u6f22", "given"]},
        {"name": "--count", "categories": ["[red]x[/red]", "y"]},
        {"name": "constant"},
    ],
    "order": 2,
}
ODD_QUESTIONS = (
    "marginal --count",
    "marginal --count 'what, \"this\" is it?'",
    "conditional constant given 'what, \"this\" is it?'",
    "association constant --count",
    "association 'what, \"this\" is it?' --count",
    "correlations",
    "tree",
)


@pytest.mark.parametrize("devices", [1, 2, 3_000])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method.ID))
def test_few_devices_that_are_all_alike_can_be_asked_everything(method: Any, devices: int) -> None:
    """Odd names, an attribute that never changes, a single report: answers are numbers or unknown, never NaN."""
    mechanism = method.create(1.1, AttributeDomain.parse(ODD), {})
    values = np.zeros((devices, 3), dtype=np.int64)
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(values, seeded(3))))
    for text in ODD_QUESTIONS:
        found = ask(estimate, text)
        json.dumps(found, allow_nan=False)
        assert found
    for model in ("simplex", "consistency", "maxent", "tree"):
        found = ask(estimate, ODD_QUESTIONS[1], postprocess=model)
        json.dumps(found, allow_nan=False)
        if model != "consistency":
            assert sum(each["value"] for each in found) == pytest.approx(1.0)
    assert all(np.isfinite(array).all() for array in estimate.arrays().values())


@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method.ID))
def test_without_reports_nothing_is_said(method: Any) -> None:
    mechanism = method.create(1.1, AttributeDomain.parse(ODD), {})
    estimate = mechanism.estimate(mechanism.empty())
    for text in ODD_QUESTIONS:
        with pytest.raises(QueryError, match="no reports yet"):
            ask(estimate, text)
    assert all(np.isfinite(array).all() for array in estimate.arrays().values())
