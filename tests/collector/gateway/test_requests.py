"""Requests over HTTP: taken once, answered as the first was, or refused with one stable code."""

import asyncio
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgpack
import pytest
import redis

from hearsay.collector.gateway import openapi
from hearsay.collector.gateway.app import Gateway
from hearsay.collector.gateway.bodies import decode
from hearsay.collector.gateway.refusals import STATUS
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.mechanisms.layout import length_of
from tests.collector.gateway.running import Sender, gateway, identity, reports_of
from tests.identity import survey_table
from tests.pipeline import buckets, fold_all, state_of
from tests.rounds import rounds_table, two_rounds_known

__all__ = ["two_rounds_known"]


@pytest.fixture
def asked(client: redis.Redis, prefix: str) -> Registered:
    return buckets(client, prefix, 50)


@pytest.fixture
def sender(client: redis.Redis, prefix: str, asked: Registered) -> Iterator[Sender]:
    with gateway(client, prefix) as running:
        yield running


def ahead(seconds: float) -> str:
    """An id of another time."""
    moment = f"{int((time.time() + seconds) * 1_000):012x}"
    return f"{moment[:8]}-{moment[8:]}{identity()[13:]}"


def test_reports_are_taken_and_counted(sender: Sender, asked: Registered) -> None:
    answer = sender.send_reports([*reports_of(asked.survey, [3, 4]), b"\xc1"])
    assert (answer.status_code, answer.json()) == (202, {"accepted": 2, "rejected": 1})
    assert sender.send_reports(reports_of(asked.survey, [5])).json() == {"accepted": 1, "rejected": 0}
    fold_all(asked.shards[0])
    assert state_of(asked.shards[0])["hist"].tolist() == [0] * 3 + [1] * 3 + [0] * 44


def test_a_gateway_that_stops_asks_for_the_request_again(
    sender: Sender, asked: Registered, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not stored in time: whoever serves the app ends the request's task."""

    async def end(*_: object) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr(Gateway, "_take", end)
        answer = sender.send_reports(reports_of(asked.survey, [3]))
    assert (answer.status_code, answer.json()["code"]) == (503, "server")
    assert "send the same request again" in answer.json()["error"]
    assert "retry-after" in answer.headers


def test_a_repeat_is_answered_as_the_first_by_any_process(
    sender: Sender, asked: Registered, client: redis.Redis, prefix: str
) -> None:
    same, reports = identity(), [*reports_of(asked.survey, [7]), b"bad"]
    first = sender.send_reports(reports, id=same)
    store = asked.shards[0]
    with gateway(client, prefix) as other:
        again = [sender.send_reports(reports, id=same), other.send_reports(reports, id=same)]
        store.close()
        again += [other.send_reports(reports, id=same)]
        assert [(each.status_code, each.content) for each in again] == [(202, first.content)] * 3
        assert other.code(reports_of(asked.survey, [7, 8]), id=same) == "id-reused"
        assert other.code(reports) == "closed"
    fold_all(store)
    assert int(state_of(store)["hist"].sum()) == 1


def test_one_id_twice_at_the_same_time_is_one_request(client: redis.Redis, prefix: str, asked: Registered) -> None:
    """While the first is held, the second waits for the same answer; another body is refused at once."""
    same, one, two = identity(), reports_of(asked.survey, [1]), reports_of(asked.survey, [2])
    with gateway(client, prefix, hold_s=2.0) as sender, ThreadPoolExecutor(2) as threads:
        answers = [threads.submit(sender.send_reports, one, id=same) for _ in range(2)]
        time.sleep(0.5)
        started = time.monotonic()
        assert sender.code(two, id=same) == "id-reused"
        assert time.monotonic() - started < 1.4
        assert [answer.result().json() for answer in answers] == [{"accepted": 1, "rejected": 0}] * 2
    fold_all(asked.shards[0])
    assert int(state_of(asked.shards[0])["hist"].sum()) == 1


def test_what_is_held_is_published_together_and_at_once_when_the_process_ends(
    client: redis.Redis, prefix: str, asked: Registered
) -> None:
    store = asked.shards[0]
    with ThreadPoolExecutor(20) as threads:
        with gateway(client, prefix, hold_s=30.0) as sender:
            answers = [threads.submit(sender.send_reports, reports_of(asked.survey, [value])) for value in range(20)]
            deadline = time.monotonic() + 10
            while read_requests(client, prefix) < 20:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            assert client.xlen(store.keys.stream) == 0
        assert {answer.result().status_code for answer in answers} == {202}
    assert client.xlen(store.keys.stream) == 1  # one frame of all
    fold_all(store)
    assert state_of(store)["hist"].tolist() == [1] * 20 + [0] * 30


def read_requests(client: redis.Redis, prefix: str) -> int:
    return Registry(client, prefix).gateway_counts.all().get("requests", 0)


def test_a_full_frame_is_published_before_its_time(client: redis.Redis, prefix: str) -> None:
    asked = buckets(client, prefix, 5_000)
    with gateway(client, prefix, hold_s=30.0) as sender, ThreadPoolExecutor(5) as threads:
        every = reports_of(asked.survey, list(range(5_000)))
        answers = [
            threads.submit(sender.send_reports, every[start : start + 1_000]) for start in range(0, 5_000, 1_000)
        ]
        assert {answer.result(10).json()["accepted"] for answer in answers} == {1_000}
    fold_all(asked.shards[0])
    assert (state_of(asked.shards[0])["hist"] == 1).all()


def test_refusals_have_their_codes(sender: Sender, asked: Registered, client: redis.Redis, prefix: str) -> None:
    good = reports_of(asked.survey, [1])
    codes = {
        "malformed": sender.code(b"\x92\xc4\x01x"),
        "bad-id": sender.code(good, id="7"),
        "too-early": sender.code(good, id=ahead(3_700)),
        "too-late": sender.code(good, id=ahead(-86_500)),
        "unknown-survey": sender.code(good, "nobody"),
        "too-large": sender.code([b"x"] * 1_001),
        "content-type": sender.code(good, content_type="application/json"),
    }
    asked.shards[0].set_pressure("memory")
    codes["pressure"] = sender.code(good)
    asked.shards[0].set_pressure(None)
    asked.shards[0].close()
    codes["closed"] = sender.code(good)
    assert codes == {code: code for code in codes}
    deadline = time.monotonic() + 10
    while (seen := Registry(client, prefix).gateway_counts.all()).get("requests", 0) < len(
        codes
    ):  # written every second
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert {name: count for name, count in seen.items() if name.startswith("refused:")} == {
        f"refused:{code}": 1 for code in codes
    }
    assert client.xlen(asked.shards[0].keys.stream) == 0


def test_refusals_are_problem_documents(sender: Sender, asked: Registered) -> None:
    answer = sender.send_reports(b"\x90")
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["code"] == "malformed"
    assert document["error"] == document["detail"]
    assert document["status"] == 400
    asked.shards[0].set_pressure("deltas")
    waiting = sender.send_reports(reports_of(asked.survey, [1]))
    assert waiting.status_code == 503
    assert int(waiting.headers["retry-after"]) >= 1


@pytest.mark.parametrize(
    "body", [b"", b"\x90", b"\x91\xc4\x05x", b"\xff" * 40, msgpack.packb([b"x", 1]), msgpack.packb({}), b"\x91\xa1x"]
)
def test_a_body_that_cannot_be_read_stores_nothing(sender: Sender, body: bytes) -> None:
    assert sender.code(body) == "malformed"


def test_a_large_body_is_refused_by_its_length_and_by_what_comes(sender: Sender) -> None:
    assert sender.code(b"\x91" + b"x" * (1 << 20)) == "too-large"

    def parts() -> Iterator[bytes]:
        for _ in range(40):
            yield b"\x91" * 32_768

    headers = {"Content-Type": openapi.CONTENT_TYPE, "Idempotency-Key": identity()}
    answer = sender.post("/v1/surveys/buckets/reports", content=parts(), headers=headers)
    assert answer.json()["code"] == "too-large"


def test_a_report_of_a_whole_body_may_be_large(client: redis.Redis, prefix: str) -> None:
    table = {"name": "wide", "mechanism": "oue", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 1 << 15}}
    asked = Registry(client, prefix).add(parse(table))
    with gateway(client, prefix) as sender:
        reports = reports_of(asked.survey, list(range(100)))
        assert sender.send_reports(reports, "wide").json() == {"accepted": 100, "rejected": 0}
    assert asked.shards[0].node.client.xlen(asked.shards[0].keys.stream) == 1


def test_other_methods_and_addresses(sender: Sender) -> None:
    refused = sender.get("/v1/surveys/buckets/reports")
    assert (refused.status_code, refused.headers["allow"], refused.json()["code"]) == (405, "POST", "method")
    assert sender.get("/v1/nothing").json()["code"] == "not-found"
    assert sender.post("/v1/surveys/a/b/reports").status_code == 404


def test_a_survey_with_rounds_needs_to_be_told_which(client: redis.Redis, prefix: str) -> None:
    asked = Registry(client, prefix).add(parse(rounds_table(4)))
    name, store = asked.survey.name, asked.shards[0]
    first = reports_of(asked.survey, [1])
    with gateway(client, prefix) as sender:
        assert sender.get(f"/v1/surveys/{name}/round").json()["round"] == 1
        for query in ("", "?round=0", "?round=x", "?round=1&round=1", "?round=2", "?other=1"):
            assert sender.code(first, name, query=query) == "malformed", query
        same = identity()
        early = sender.send_reports(first, name, query="?round=2").json()
        assert early["error"] == "round 2 is not open; the newest is 1"
        assert sender.send_reports(first, name, query="?round=1", id=same).status_code == 202
        store.close_round(1)
        assert sender.get(f"/v1/surveys/{name}/round").json()["code"] == "no-round"
        assert sender.code(first, name, query="?round=1") == "round-over"
        assert sender.code(first, name, query="?round=1", id=same) == "202"
        store.open_round(2, {"chosen": [1, 3]})
        second = reports_of(asked.survey.in_round([{"chosen": [1, 3]}]), [3])
        assert sender.send_reports(second, name, query="?round=2").json() == {"accepted": 1, "rejected": 0}
        assert sender.code(second, name, query="?round=2", id=same) == "id-reused"
        outside = sender.send_reports(reports_of(asked.survey, [3]), name, query="?round=2")
        assert outside.json() == {"accepted": 0, "rejected": 1}  # round 2 has no such report
    assert client.xlen(store.keys.stream) == 2


def test_a_survey_without_rounds_has_round_1_only(sender: Sender, asked: Registered) -> None:
    same = identity()
    assert sender.code(reports_of(asked.survey, [1]), id=same) == "202"
    assert sender.code(reports_of(asked.survey, [1]), query="?round=1", id=same) == "202"  # what /round handed out
    for query in ("?round=2", "?round=", "?other=1", "?round=1&round=1"):
        assert sender.code(reports_of(asked.survey, [1]), query=query) == "malformed"


def test_shards_share_the_requests_by_their_ids(client: redis.Redis, prefix: str) -> None:
    asked = Registry(client, prefix).add(parse({**buckets(client, prefix, 24).survey.canonical(), "name": "two"}), 2)
    with gateway(client, prefix) as sender:
        for value in range(24):
            same = identity()
            for _ in range(2):
                assert sender.send_reports(reports_of(asked.survey, [value]), "two", id=same).status_code == 202
    assert sum(client.xlen(store.keys.stream) for store in asked.shards) == 24
    # All on one shard: once in 8 million runs.
    assert all(client.xlen(store.keys.stream) > 0 for store in asked.shards)


def test_what_a_survey_asks_and_promises(sender: Sender, asked: Registered) -> None:
    answer = sender.get("/v1/surveys/buckets").json()
    assert answer["definition"] == asked.survey.canonical()
    assert answer["tag"] == asked.survey.tag
    assert answer["guarantee"]["words"] == asked.survey.mechanism.guarantee.words()
    assert answer["participation"]["repeat"] == asked.survey.participation.repeat
    assert answer["participation"]["loss"]["per_report"] == asked.survey.epsilon
    assert "device" in answer
    assert sender.get("/v1/surveys/nobody").json()["code"] == "unknown-survey"


def test_a_survey_that_comes_later_and_goes_again(sender: Sender, client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    assert sender.code([b"x"], "later") == "unknown-survey"
    later = registry.add(parse({**registry.get("buckets").survey.canonical(), "name": "later"}))
    deadline = time.monotonic() + 10
    while sender.code(reports_of(later.survey, [1]), "later") != "202":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    registry.delete("later")
    assert sender.code(reports_of(later.survey, [1]), "later") == "unknown-survey"
    later = registry.add(parse(survey_table("identity", 70, "later")))
    while sender.code(reports_of(later.survey, [1]), "later") == "unknown-survey":  # believed for a second
        assert time.monotonic() < deadline
        time.sleep(0.1)
    registry.delete("later")
    other = registry.add(parse(survey_table("identity", 90, "later")))
    assert sender.send_reports(reports_of(other.survey, [80]), "later").json() == {"accepted": 1, "rejected": 0}


def test_nothing_beside_a_payload_says_whose_it_is(sender: Sender, asked: Registered, client: redis.Redis) -> None:
    """No key of Redis holds an address, or an id in whole; entries hold the frame and nothing else."""
    same = identity()
    sender.send_reports(reports_of(asked.survey, [1]), id=same)
    octets = bytes.fromhex(same.replace("-", ""))
    ((_, fields),) = client.xrange(asked.shards[0].keys.stream)
    assert set(fields) == {b"f"}
    for key in client.keys("*"):
        content = key + client.dump(key)
        assert b"127.0.0.1" not in content
        assert same.encode() not in content
        assert octets not in content
        assert octets[:8] not in content


def test_the_page_names_every_code(sender: Sender) -> None:
    page = sender.get("/v1/")
    assert page.headers["content-type"].startswith("text/html")
    assert all(f"<code>{code}</code>" in page.text for code in STATUS)
    assert set(openapi.MEANING) == set(STATUS)
    guide = (Path(__file__).parents[3] / "docs" / "how-to" / "gateway.md").read_text(encoding="utf-8")
    assert [code for code, status in STATUS.items() if not re.search(rf"^\| {status} \| .*`{code}`", guide, re.M)] == []
    assert sender.get("/v1/openapi.json").json() == openapi.document()


def test_reports_come_out_as_they_went_in(client: redis.Redis, prefix: str) -> None:
    """A mechanism of several variants: what is folded is what was sent."""
    table = {"name": "tree", "mechanism": "hierarchical", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 64}}
    asked = Registry(client, prefix).add(parse({**table, "options": {"oracle": "oue"}}))
    mechanism = asked.survey.mechanism
    reports = reports_of(asked.survey, list(range(64)))
    with gateway(client, prefix) as sender:
        assert sender.send_reports(reports, "tree").json()["accepted"] == 64
    buckets(client, prefix, 2)  # jobs of this process work on this server
    fold_all(asked.shards[0])
    decoded = decode([msgpack.packb(reports)], mechanism, codec(mechanism))
    assert length_of(decoded.reports) == 64
    expected = mechanism.fold(mechanism.empty(), decoded.reports)
    state = state_of(asked.shards[0])
    assert {name: array.tolist() for name, array in state.items()} == {
        name: array.tolist() for name, array in expected.items()
    }
