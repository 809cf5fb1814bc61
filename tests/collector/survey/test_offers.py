"""What a device accepts of a round, and what it refuses."""

from typing import Any

import numpy as np
import pytest

from hearsay.collector.errors import OfferRefused
from hearsay.collector.survey.offers import Offer
from hearsay.collector.survey.survey import Survey, parse
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import decode
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.producer.device import Device

DRINKS = {"tea": 0.4, "milk": -1.0}


def survey(mechanism: str = "privkvm", **options: object) -> Survey:
    domain = {"kind": "key-value", "keys": ["tea", "milk", "rusk"]}
    if mechanism == "heavy":
        domain = {"kind": "key-value", "keys": 4, "values": False, "ordered": True}
    given = {"rounds": 3} if mechanism == "privkvm" else {"k": 1, "padding": 2}
    return parse(
        {"name": "drinks", "mechanism": mechanism, "epsilon": 2.0, "domain": domain, "options": {**given, **options}}
    )


def in_round(number: int, **options: object) -> Survey:
    return survey(**options).in_round([{"means": [0, 1 << 20, -(1 << 20)]}] * (number - 1))


def test_a_device_answers_each_round_once_with_bytes_of_that_round() -> None:
    device = Device(survey(), seeded(1))
    for number in (1, 2, 3):
        here = in_round(number)
        report = device.report(DRINKS, Offer.of(here, seeded(number)).table())
        decoded = decode(here.mechanism, [{b"r": report}], codec(here.mechanism))
        assert decoded.count == 1
        state = here.mechanism.fold(here.mechanism.empty(), decoded.reports)
        assert [name for name, array in state.items() if array.any()] == [here.mechanism.array(number)]


def test_all_devices_share_an_offer_unless_something_was_drawn_for_one() -> None:
    assert Offer.of(survey(), seeded(1)).shared, "the first round has no parameters"
    assert not Offer.of(in_round(2), seeded(1)).shared, "signs are drawn for each device"
    assert Offer.of(in_round(2, disclose="means"), seeded(1)).shared


def test_without_an_offer_the_first_round_is_meant() -> None:
    device = Device(survey(), seeded(1))
    device.report(DRINKS)
    with pytest.raises(OfferRefused, match="must be after round 1"):
        device.report(DRINKS)


def test_draws_are_fresh_for_every_device_and_means_are_one_document() -> None:
    random = seeded(2)
    mean = survey().in_round([{"means": [0, 0, 0]}])
    assert len({Offer.of(mean, random).parameters["signs"] for _ in range(60)}) == 8
    public = in_round(2, disclose="means")
    assert Offer.of(public, random) == Offer.of(public, random)
    assert Offer.of(public, random).table()["parameters"] == {"means": [0, 1 << 20, -(1 << 20)]}
    Device(public, random).report(DRINKS, Offer.of(public, random).table())


def refusal(table: Any, answered: int = 0) -> str:
    device = Device(survey(), seeded(1))
    for number in range(1, answered + 1):
        device.report(DRINKS, Offer.of(in_round(number), seeded(1)).table())
    with pytest.raises(OfferRefused) as caught:
        device.report(DRINKS, table)
    # What was refused spends nothing: the device goes on with the next good offer.
    device.report(DRINKS, Offer.of(in_round(answered + 1), seeded(1)).table())
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def offered(number: int = 2, **changes: object) -> dict:
    return {"tag": survey().tag, "round": number, "parameters": {"signs": "+-+"}, **changes}


@pytest.mark.parametrize(
    ("table", "answered", "message"),
    [
        (offered(tag="0" * 64), 1, "round must be of the survey with tag"),
        (offered(1, parameters={}), 1, "round must be after round 1, which was answered, got 1"),
        (offered(2), 2, "round must be after round 2, which was answered, got 2"),
        (offered(4), 1, "round must be in 1..3, got 4"),
        (offered(0), 0, "round must be in 1..3, got 0"),
        (offered(parameters={"signs": "+-0"}), 1, "must be 3 characters + or -"),
        (offered(parameters={"signs": "+-"}), 1, "must be 3 characters + or -"),
        (offered(parameters={"means": [0, 0, 2**21]}), 1, "must be 3 integers in -2^20..2^20"),
        (offered(parameters={"signs": "+-+", "epsilon": 9}), 1, "exactly one of signs, means"),
        (offered(parameters={}), 1, "exactly one of signs, means"),
        (offered(1), 0, "round 1 must have no parameters"),
        (offered(budget=9), 1, "round must have exactly parameters, round, tag"),
        (offered(round="2"), 1, "a whole number"),
        (offered(round=10**5000), 1, "a whole number"),
        (offered(tag="no\ntag"), 1, "round must be of the survey with tag"),
        (offered(parameters={"no\nsigns": "+-+"}), 1, "exactly one of signs, means"),
        ({**offered(), "more\nlines": 1}, 1, "round must have exactly parameters, round, tag"),
        (["+-+"], 1, "round must have exactly parameters, round, tag"),
        (3, 1, "round must have exactly parameters, round, tag"),
    ],
)
def test_what_is_no_good_offer_is_refused(table: Any, answered: int, message: str) -> None:
    assert message in refusal(table, answered)


def test_missing_a_round_is_allowed_and_joining_late_too() -> None:
    device = Device(survey(), seeded(1))
    assert device.report(DRINKS, Offer.of(in_round(3), seeded(1)).table())


def test_a_program_that_starts_anew_remembers_what_it_answered() -> None:
    first = Device(survey(), seeded(1))
    assert first.answered == 0
    first.report(DRINKS, Offer.of(in_round(2), seeded(1)).table())
    again = Device(survey(), seeded(2), answered=first.answered)
    for number in (1, 2):
        with pytest.raises(OfferRefused, match="must be after round 2"):
            again.report(DRINKS, Offer.of(in_round(number), seeded(1)).table())
    assert again.report(DRINKS, Offer.of(in_round(3), seeded(1)).table())


def test_a_survey_that_asks_a_device_once_is_not_answered_twice() -> None:
    heavy = survey("heavy")
    device = Device(heavy, seeded(1))
    device.report([1, 3])
    second = heavy.in_round([{"candidates": [1, 3]}])
    with pytest.raises(OfferRefused, match="asks a device only once"):
        device.report([1, 3], Offer.of(second, seeded(1)).table())
    assert Device(heavy, seeded(1)).report([1, 3], Offer.of(second, seeded(1)).table())


def test_reports_of_a_device_have_the_law_of_a_fleets() -> None:
    """Round 2, with signs drawn for each device: how often it says plus, against one batch of as many."""
    here, random = in_round(2), seeded(9)
    mechanism = here.mechanism
    singles = [Device(here, random).report(DRINKS, Offer.of(here, random).table()) for _ in range(1_500)]
    state = mechanism.fold(
        mechanism.empty(), decode(mechanism, [{b"r": one} for one in singles], codec(mechanism)).reports
    )
    pairs = mechanism.domain.one(DRINKS)[np.zeros(30_000, dtype=np.int64)]
    many = mechanism.fold(mechanism.empty(), mechanism.perturb(pairs, random))
    name = mechanism.array(2)
    few, all_ = state[name][:, 0] / 1_500, many[name][:, 0] / 30_000
    assert (np.abs(few - all_) < 5 * np.sqrt(all_ / 1_500) + 1e-3).all()


@pytest.mark.parametrize("kept", [-1, 65, "2", 1.0, True, None])
def test_a_round_that_cannot_have_been_answered_is_refused(kept: Any) -> None:
    with pytest.raises(ValueError, match=r"answered must be an integer in 0\.\.\d+, got"):
        Device(survey(), answered=kept)
