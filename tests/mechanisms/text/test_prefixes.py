"""The device, the search and the shares of `prefixes`."""

from typing import Any

import numpy as np
import pytest

from hearsay.collector.wire.codec import codec
from hearsay.mechanisms import build, merge
from hearsay.mechanisms.changes import change
from hearsay.mechanisms.errors import QueryError, ValueOutsideDomain
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.questions import answer, parse_text
from hearsay.mechanisms.text.prefixes import Prefixes
from hearsay.producer import Device
from tests.mechanisms.shared import ALL_CASES

UNUSUAL = ("", "a", "ab", "abc", "x", "\0", "\ud800", "e\u0301", "x" * 5_000)
CASES = [case for case in ALL_CASES if case.table["domain"]["kind"] == "text"]


def survey(**more: Any) -> Prefixes:
    table: dict[str, Any] = {"mechanism": "prefixes", "epsilon": 4.0, "domain": {"kind": "text", "length": 6}}
    found: Prefixes = build({**table, **more})  # type: ignore[assignment]
    return found


def ask(mechanism: Prefixes, state: Any, question: str) -> list[Any]:
    return answer(parse_text(question), mechanism.estimate(state))


def folded(mechanism: Prefixes, texts: list[str], seed: int) -> Any:
    values = mechanism.domain.read({"value": texts})
    return mechanism.fold(mechanism.empty(), mechanism.perturb(values, seeded(seed)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_pair_of_texts_outside_included_is_within_epsilon(case: Any) -> None:
    mechanism: Any = case.build()
    channel, values = mechanism.channel(), mechanism.listed_values()
    np.testing.assert_array_equal(values[-1], mechanism.domain.code.outside)
    np.testing.assert_allclose(channel.sum(axis=1), 1.0, atol=1e-12)
    assert (channel.max(axis=0) <= channel.min(axis=0) * np.exp(mechanism.epsilon) * (1 + 1e-12)).all()
    assert mechanism.epsilon * (1 - 1e-6) <= mechanism.spent_epsilon <= mechanism.epsilon


@pytest.mark.parametrize("case", CASES[:2], ids=lambda case: case.name)
def test_devices_draw_from_the_channel(case: Any) -> None:
    mechanism: Any = case.build()
    values, channel = mechanism.listed_values(), mechanism.channel()
    for row in (0, 1, len(values) - 1):
        draws = 50_000
        reports = mechanism.perturb(np.repeat(values[row : row + 1], draws, axis=0), seeded(row))
        counts = np.bincount(reports["symbol"], minlength=channel.shape[1])
        off = (counts - draws * channel[row]) / np.sqrt(draws * channel[row])
        assert abs((off**2).mean() - 1) < 6 * np.sqrt(2 / len(off)) + 0.05


def test_the_listed_channel_has_every_text_of_two_letters() -> None:
    mechanism: Any = CASES[0].build()
    words = [mechanism.domain.code.decode(code) for code in mechanism.listed_values()]
    assert words == ["", "a", "b", "aa", "ab", "ba", "bb", None]


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("domain", [{"length": 2, "alphabet": "ab"}, {"length": 4}, {"length": 256}])
def test_every_report_has_the_same_length(epsilon: float, domain: dict[str, Any]) -> None:
    table = {"name": "words", "mechanism": "prefixes", "epsilon": epsilon, "domain": {"kind": "text", **domain}}
    random = seeded(1)
    device = Device(table, random)
    assert len({len(device.report(text)) for text in UNUSUAL for _ in range(20)}) == 1
    # Also of the smallest numbers that a report can be, which other layouts write shorter; and all are read back.
    mechanism = device.survey.mechanism
    first = np.array([0, 1, 200, mechanism.layout.outcomes - 1], dtype=np.uint64)
    wire = codec(mechanism)
    payloads = wire.encode_singles({"symbol": first})
    assert {len(payload) for payload in payloads} == {len(device.report("a"))}
    refused: list[int] = []
    parts = wire.decode_singles(payloads, lambda position, reason: refused.append(position))
    np.testing.assert_array_equal(np.concatenate([part["symbol"] for _, part in parts]), first)
    assert not refused


def test_a_value_that_is_no_text_is_an_error_without_the_value() -> None:
    with pytest.raises(ValueOutsideDomain, match=r"^value must be a text, got int$"):
        survey().domain.one(4711)
    with pytest.raises(ValueOutsideDomain, match="codes of texts"):
        survey().perturb(np.zeros((3, 2), dtype=np.uint8), seeded(1))


def test_folding_parts_equals_folding_all() -> None:
    for case in CASES:
        mechanism: Any = case.build()
        values = mechanism.domain.people(lambda size: np.arange(4_000) % size)
        reports = mechanism.perturb(values, seeded(5))["symbol"]
        whole, parts = mechanism.fold(mechanism.empty(), {"symbol": reports}), mechanism.empty()
        for part in np.array_split(reports, 9):
            merge(parts, mechanism.fold(mechanism.empty(), {"symbol": part}))
        assert mechanism.reports(whole) == 4_000
        for name, array in whole.items():
            np.testing.assert_array_equal(array, parts[name])


WORDS = ["tea", "café", "naïve", "€", "", "東京", "a b"]


def test_frequent_texts_are_told_with_their_shares_and_nothing_else() -> None:
    mechanism = survey()
    generator = np.random.default_rng(2)
    common = [word for word in WORDS for _ in range(8_000)]
    rare = [f"{number:05x}" for number in generator.integers(0, 1 << 20, 40_000)]
    long = ["much too long"] * 4_000
    state = folded(mechanism, common + rare + long, seed=3)
    told = ask(mechanism, state, "top 20")
    assert {each.item for each in told} == set(WORDS)
    assert [each.value for each in told] == sorted((each.value for each in told), reverse=True)
    assert all(abs(each.value - 0.08) < 4.5 * each.stderr < 0.025 for each in told)
    assert [each.item for each in ask(mechanism, state, "top 2")] == [each.item for each in told[:2]]
    (number,) = ask(mechanism, state, "told")
    assert (number.value, number.stderr) == (7.0, None)
    (outside,) = ask(mechanism, state, "outside")
    assert abs(outside.value - 0.04) < 4.5 * outside.stderr
    (nobody,) = ask(mechanism, state, "point nobody")
    assert nobody.item == "nobody"
    assert abs(nobody.value) < 4.5 * nobody.stderr
    (point,) = ask(mechanism, state, "point cafe\u0301")
    assert (point.item, point.value) == ("café", next(each.value for each in told if each.item == "café"))


def test_what_cannot_be_asked_says_what_to_ask_instead() -> None:
    mechanism = survey()
    state = folded(mechanism, ["tea"] * 100, seed=1)
    with pytest.raises(QueryError, match=r"ask top 10; this survey answers point, top, told, outside"):
        ask(mechanism, state, "frequencies")
    with pytest.raises(QueryError, match=r"ask: outside$"):
        ask(mechanism, state, "point 'much too long'")
    with pytest.raises(QueryError, match="needs an ordinal domain"):
        ask(mechanism, state, "quantile 0.5")
    with pytest.raises(QueryError, match="top must be a whole number"):
        ask(mechanism, state, "top 0")


def test_the_truth_is_asked_in_the_same_way() -> None:
    mechanism = survey()
    exact = mechanism.exact(mechanism.domain.read({"value": ["tea"] * 3 + ["milk"] * 5 + ["x" * 9] * 2}))
    assert [(each.item, each.value) for each in answer(parse_text("top 5"), exact)] == [("milk", 0.5), ("tea", 0.3)]
    assert [each.value for each in answer(parse_text("outside"), exact)] == [0.2]
    assert [each.value for each in answer(parse_text("point rum"), exact)] == [0.0]


def test_no_reports_and_few_reports_tell_nothing() -> None:
    """One report that names a text by chance is no evidence, however small its probability."""
    mechanism = survey(epsilon=8.0)
    assert mechanism.estimate(mechanism.empty()).detected.shape == (0, 6)
    generator = np.random.default_rng(4)
    told = 0
    for seed in range(60):
        texts = [f"{number:06x}" for number in generator.integers(0, 1 << 24, 300)]
        told += len(mechanism.estimate(folded(mechanism, texts, seed)).detected)
    assert told <= 2


def test_windows_add_up_to_texts_that_neither_tells() -> None:
    mechanism = survey(epsilon=2.0)
    devices = 30_000
    common = round(mechanism.smallest_detected_share(2 * devices) * devices)  # type: ignore[operator]
    windows = [
        folded(mechanism, ["tea"] * common + [f"{number % 7919:04d}" for number in range(devices - common)], seed)
        for seed in (0, 1)
    ]
    assert [len(ask(mechanism, window, "top 5")) for window in windows] == [0, 0]
    both = merge({name: array.copy() for name, array in windows[0].items()}, windows[1])
    assert [each.item for each in ask(mechanism, both, "top 5")] == ["tea"]


def test_where_neither_window_has_a_detected_text_no_text_changed() -> None:
    mechanism = survey()
    one, other = (mechanism.estimate(folded(mechanism, ["tea"] * 3, seed)) for seed in (1, 2))
    assert change(parse_text("top 5"), one, other) == []


def test_the_same_seed_is_the_same_hash_for_ever() -> None:
    """Numbers written down when the mechanism was new: devices and estimators of any version agree on them."""
    mechanism = survey(options={"seed": 3})
    code = mechanism.domain.one("tea")
    assert [int(mechanism.hashes[question](code)[0]) for question in (0, 1, 6)] == HASHED
    assert [int(survey().hashes[1](code)[0])] != HASHED[1:2]


HASHED = [235745, 29458, 9634]


def test_the_smallest_detected_share_is_the_planned_one() -> None:
    """The figures of the page: five to six standard errors, falling with the root of the reports."""
    mechanism = survey(domain={"kind": "text", "length": 16})
    share, of_more = (mechanism.smallest_detected_share(reports) for reports in (1_000_000, 4_000_000))
    assert share is not None
    assert of_more is not None
    assert 5.2 < share / mechanism.predicted_stderr(1_000_000)["point"] < 6.0
    assert share / of_more == pytest.approx(2, rel=0.03)
    assert mechanism.smallest_detected_share(10) is None


def test_the_advice_on_alphabets_names_the_smallest_detected_share_or_none() -> None:
    (advice,) = survey(domain={"kind": "text", "length": 16}).advice()
    letters = survey(domain={"kind": "text", "length": 16, "alphabet": "abcdefghijklmnopqrstuvwxyz"})
    assert letters.advice() == []
    smallest = letters.smallest_detected_share(1_000_000)
    assert f"the smallest share of the devices that is detected is {smallest:.2%} instead of" in advice
    (advice,) = survey(epsilon=0.001, domain={"kind": "text", "length": 16}).advice()
    assert "is none instead of none." in advice
