"""The automatic choice: least error, then the smallest report, and a reason that says so."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.planning.auto import REFERENCE_REPORTS, resolve
from hearsay.mechanisms.planning.report_size import report_bits


def auto(domain: dict[str, Any], epsilon: float = 1.1) -> tuple[dict[str, Any], str]:
    return resolve({"name": "s", "mechanism": "auto", "epsilon": epsilon, "domain": domain})


@pytest.mark.parametrize(
    ("domain", "epsilon", "expected"),
    [
        ({"kind": "binary"}, 1.1, "grr"),
        ({"kind": "categorical", "size": 4}, 3.0, "grr"),
        ({"kind": "categorical", "size": 1000}, 1.1, "olh"),
        ({"kind": "categorical", "size": 1 << 22}, 1.1, "olh"),
        ({"kind": "categorical", "size": 9, "blocks": 3}, 1.0, "block-hr"),
        ({"kind": "categorical", "size": 9, "sensitive": [1]}, 1.0, "highlow-hr"),
        ({"kind": "grid", "sizes": [20, 30]}, 0.2, "haar"),
        ({"kind": "grid", "sizes": [20, 30]}, 1.0, "hierarchical"),
        ({"kind": "grid", "sizes": [20, 30]}, 2.5, "hierarchical"),
        ({"kind": "grid", "sizes": [16, 16, 16]}, 1.0, "hierarchical"),
    ],
)
def test_the_choice(domain: dict[str, Any], epsilon: float, expected: str) -> None:
    table, reason = auto(domain, epsilon)
    assert table["mechanism"] == expected
    assert table["name"] == "s"
    assert reason.startswith(f"{expected}: ")


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 3.5, 4.0, 6.0, 10.0, 50.0])
def test_among_equals_the_first_is_taken_at_every_epsilon(epsilon: float) -> None:
    """On two values grr, olh and hrr have one error: its last digits must not decide, intervals of grr are narrower."""
    assert auto({"kind": "binary"}, epsilon)[0]["mechanism"] == "grr"


@pytest.mark.parametrize("epsilon", [36.5, 40.0, 45.0, 50.0])
@pytest.mark.parametrize("size", [7, 13, 82, 100])
def test_an_epsilon_that_leaves_no_noise_still_has_a_choice_and_an_error(size: int, epsilon: float) -> None:
    """There all that is left of a variance is rounding, which may be below zero; tests turn warnings into errors."""
    table, _ = auto({"kind": "ordinal", "size": size}, epsilon)
    for mechanism in (table["mechanism"], "flat", "hierarchical"):
        predicted = build({**table, "mechanism": mechanism, "options": {}}).predicted_stderr(1_000)
        assert all(0 <= error <= 1e-3 for error in predicted.values()), (mechanism, predicted)
    if size == 82:
        assert table["mechanism"] == "hierarchical", "neither it nor flat has noise, and its report is the smaller one"


@pytest.mark.parametrize("size", [3, 8, 20, 60, 500, 5000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_no_oracle_is_better_by_more_than_the_tolerance(size: int, epsilon: float) -> None:
    domain = {"kind": "categorical", "size": size}
    chosen = build({"mechanism": "auto", "epsilon": epsilon, "domain": domain})
    for name in ("grr", "ss", "oue", "olh", "hrr"):
        other = build({"mechanism": name, "epsilon": epsilon, "domain": domain})
        mine, theirs = (m.predicted_stderr(REFERENCE_REPORTS)["point"] for m in (chosen, other))
        assert mine <= 1.05 * theirs * (1 + 1e-12)
        if theirs <= mine:
            assert report_bits(chosen.layout) <= report_bits(other.layout)


def test_grr_beats_oue_exactly_while_the_domain_is_smaller_than_the_rule_says() -> None:
    """D < 3 e^eps + 2 at f = 0."""
    for epsilon in (0.5, 1.0, 2.0):
        limit = 3 * np.exp(epsilon) + 2
        for size in range(2, 40):
            oracles = [
                build({"mechanism": name, "epsilon": epsilon, "domain": {"kind": "categorical", "size": size}})
                for name in ("grr", "oue")
            ]
            grr, oue = (oracle.moments.variance(np.zeros(1))[0] for oracle in oracles)  # type: ignore[attr-defined]
            assert (grr < oue) == (size < limit)


def test_ordered_values_get_a_mechanism_that_answers_ranges() -> None:
    table, reason = auto({"kind": "ordinal", "size": 256})
    assert "range" in build(table).predicted_stderr(1000)
    assert "standard error of ranges" in reason


def test_the_resolved_table_builds_the_same_mechanism_and_resolves_no_further() -> None:
    table, _ = auto({"kind": "categorical", "categories": ["a", "b", "c"]})
    assert build(table).canonical_options() == table["options"]
    assert build(table) == build({"mechanism": "auto", "epsilon": 1.1, "domain": table["domain"]})


def test_the_reason_names_the_alternatives_with_error_and_size() -> None:
    _, reason = auto({"kind": "categorical", "size": 1000})
    assert "oue 0.00547 with 1000 bits" in reason
    assert "at 100000 reports: olh 0.00546 with 12 bits a report" in reason


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"options": {"t": 2}}, "options must be empty"),
        ({"epsilon": -1.0}, "epsilon must be > 0"),
        (
            {"domain": {"kind": "categorical", "size": 4, "blocks": 2, "sensitive": [1]}},
            "blocks or sensitive, not both",
        ),
    ],
)
def test_what_is_refused(change: dict[str, Any], message: str) -> None:
    table = {"mechanism": "auto", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 4}, **change}
    with pytest.raises(SpecificationError, match=message):
        build(table)
