"""A survey in words and numbers."""

from typing import Any

import pytest

from hearsay.collector.describe.describe import describe
from hearsay.collector.survey.survey import parse
from hearsay.mechanisms.catalogue import parse_domain
from hearsay.mechanisms.planning.auto import choose


def key_value(mechanism: str, domain: dict[str, Any]) -> dict[str, float]:
    keys = {"kind": "key-value", "keys": 8, "pairs": 3}
    rounds = {"rounds": {"reports": 1000}} if mechanism.startswith("privkvm") else {}
    survey = parse({"name": "s", "mechanism": mechanism, "epsilon": 2.0, "domain": {**keys, **domain}, **rounds})
    errors: dict[str, float] = describe(survey)["predicted_stderr"]["10000"]
    return errors


@pytest.mark.parametrize("mechanism", ["privkv", "privkvm", "pckv-grr", "pckv-ue"])
def test_the_error_of_a_mean_is_in_the_units_of_the_domain(mechanism: str) -> None:
    plain = key_value(mechanism, {})
    minutes = key_value(mechanism, {"low": 0, "high": 120})
    assert minutes["mean"] == pytest.approx(60 * plain["mean"])
    assert minutes["point"] == plain["point"]


def test_of_several_numbers_the_widest_counts() -> None:
    both = [{"name": "minutes", "low": 0, "high": 120}, {"name": "stars", "low": 1, "high": 5}]
    one = [{"name": "minutes", "low": -1, "high": 1}, {"name": "stars", "low": -1, "high": 1}]
    assert key_value("privkv", {"values": both})["mean"] == pytest.approx(
        60 * key_value("privkv", {"values": one})["mean"]
    )


def test_the_reason_of_the_choice_is_in_these_units_and_the_choice_does_not_depend_on_them() -> None:
    def chosen(high: float) -> tuple[str, float]:
        domain = parse_domain({"kind": "key-value", "keys": 8, "pairs": 3, "low": -high, "high": high})
        mechanism, reason = choose(2.0, domain, "mean")
        return mechanism.ID, float(reason.split(f"reports: {mechanism.ID} ")[1].split()[0])

    names, errors = zip(*map(chosen, (1e-9, 1.0, 600.0)), strict=True)
    assert len(set(names)) == 1
    assert errors == pytest.approx((1e-9 * errors[1], errors[1], 600 * errors[1]), rel=0.01)
