"""The client library: secure unless a test says otherwise by name, and silent about the value."""

import ast
import inspect
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
import redis

from hearsay.collector.errors import OfferRefused
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import decode
from hearsay.collector.writer import Writer
from hearsay.mechanisms.errors import ValueOutsideDomain
from hearsay.mechanisms.exact.randomness import SecureRandom, Words, seeded
from hearsay.producer import Device
from hearsay.producer import device as device_module
from hearsay.producer.errors import LedgerError
from hearsay.workers.context import Context, set_current
from tests.pipeline import fold_all

TEA = {
    "name": "drinks",
    "mechanism": "hrr",
    "epsilon": 1.0,
    "domain": {"kind": "categorical", "categories": ["tea", "coffee", "water"]},
}
PLACE = {
    "name": "place",
    "mechanism": "metric-l1",
    "epsilon": 1.0,
    "domain": {"kind": "grid", "axes": [{"name": "x", "size": 4}, {"name": "y", "low": 0.0, "high": 1.0, "bins": 5}]},
}


def test_the_secure_source_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    real = SecureRandom.words

    def counted(self: SecureRandom, count: int) -> np.ndarray:
        drawn.append(count)
        return real(self, count)

    monkeypatch.setattr(SecureRandom, "words", counted)
    monkeypatch.setattr(
        "hearsay.mechanisms.exact.randomness.SeededRandom.__init__", lambda *_: pytest.fail("seeded by itself")
    )
    np.random.seed(1)
    first = [Device(TEA).report("tea") for _ in range(60)]
    np.random.seed(1)
    second = [Device(TEA).report("tea") for _ in range(60)]
    assert drawn
    assert first != second  # no seed of numpy's reaches a device


def test_the_seeded_source_must_be_named() -> None:
    one, two = Device(TEA, random=seeded(5)), Device(TEA, random=seeded(5))
    assert [one.report("tea") for _ in range(20)] == [two.report("tea") for _ in range(20)]
    names = {node.id for node in ast.walk(ast.parse(inspect.getsource(device_module))) if isinstance(node, ast.Name)}
    assert "secure" in names
    assert not names & {"seeded", "SeededRandom"}


@pytest.mark.parametrize("value", ["cocoa", "", None, 7, float("nan")])
def test_a_value_outside_is_refused_and_never_shown(value: object) -> None:
    with pytest.raises(ValueOutsideDomain) as caught:
        Device(TEA).report(value)
    assert str(caught.value) == "value must be one of tea, coffee, water"


def test_a_grid_takes_coordinates_by_name_or_in_order() -> None:
    device, survey = Device(PLACE, random=seeded(1)), parse(PLACE)
    again = Device(PLACE, random=seeded(1))
    assert device.report({"x": 3, "y": 0.5}) == again.report((3, 0.5))
    decoded = decode(survey.mechanism, [{b"r": device.report((0, 0.0))}], codec(survey.mechanism))
    assert decoded.count == 1


def test_a_survey_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "drinks.toml"
    path.write_text(
        'name = "drinks"\nmechanism = "hrr"\nepsilon = 1.0\n[domain]\nkind = "categorical"\n'
        'categories = ["tea", "coffee", "water"]\n'
    )
    assert Device(path).survey.tag == Device(str(path)).survey.tag == parse(TEA).tag


def test_devices_publish_into_the_stream(client: redis.Redis, prefix: str) -> None:
    store = Registry(client, prefix).add(parse(TEA)).shards[0]
    set_current(Context(client, prefix))
    writer = Writer(store)
    for drink in ("tea", "coffee", "tea"):
        Device(TEA).publish(drink, writer)
    fold_all(store)
    assert store.read("all").folded == 3


def test_a_survey_of_one_round_takes_reports_that_name_it(client: redis.Redis, prefix: str) -> None:
    store = Registry(client, prefix).add(parse(TEA)).shards[0]
    set_current(Context(client, prefix))
    writer, device = Writer(store), Device(TEA)
    device.publish("tea", writer, {"tag": parse(TEA).tag, "round": 1, "parameters": {}})
    device.publish("tea", writer)
    fold_all(store)
    assert store.read("all").folded == 2


class Slow(SecureRandom):
    """Takes its time, so that every thread of a test is at the same step."""

    def words(self, count: int) -> Words:
        time.sleep(0.02)
        return super().words(count)


def test_row_4_threads_that_share_a_device_answer_a_round_once() -> None:
    """Row 4 of an attacker's list: 299 of 400 devices answered a round several times."""
    domain = {"kind": "key-value", "keys": 3}
    survey = parse(
        {"name": "films", "mechanism": "privkvm", "epsilon": 2.0, "domain": domain, "options": {"rounds": 2}}
    )
    threads = 8
    barrier = Barrier(threads)

    def answers(device: Device) -> bool:
        barrier.wait()
        try:
            return bool(device.report({"0": 0.5}))
        except OfferRefused:
            return False

    with ThreadPoolExecutor(threads) as pool:
        for _ in range(5):
            device = Device(survey, Slow())
            assert sum(pool.map(answers, [device] * threads)) == 1
            assert device.answered == 1


def test_row_4_a_round_is_recorded_before_anything_is_drawn() -> None:
    """Row 4 of an attacker's list: whatever stops a device while it draws, the round counts as answered."""

    class Stopped(SecureRandom):
        def words(self, count: int) -> Words:
            raise KeyboardInterrupt

    domain = {"kind": "key-value", "keys": 3}
    table = {"name": "films", "mechanism": "privkvm", "epsilon": 2.0, "domain": domain, "options": {"rounds": 2}}
    device = Device(table, Stopped())
    with pytest.raises(ValueOutsideDomain):
        device.report({"9": 0.5})
    assert device.answered == 0, "a value that is refused is no answer"
    with pytest.raises(KeyboardInterrupt):
        device.report({"0": 0.5})
    assert device.answered == 1


def test_many_devices_report_at_once(client: redis.Redis, prefix: str, tmp_path: Path) -> None:
    store = Registry(client, prefix).add(parse({**TEA, "name": "at-once"})).shards[0]
    device = Device(store.survey, seeded(3))
    reports = device.reports(["tea", "coffee", "water"] * 1_000)
    set_current(Context(client, prefix))
    writer = Writer(store)
    writer.publish([(b"r", report) for report in reports], len(reports))
    fold_all(store)
    assert store.look().totals.folded == 3_000
    assert len(device.reports({"value": ["tea"]})) == 1
    assert device.reports([]) == []
    with pytest.raises(ValueOutsideDomain):
        device.reports(["tea", "secret"])
    with pytest.raises(LedgerError):
        Device(TEA, ledger=tmp_path / "device.db").reports(["tea"])
