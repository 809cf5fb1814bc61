"""Bodies: what can be read of them, one by one and together, and how they become frames."""

import msgpack
import numpy as np
import pytest

from hearsay.collector.gateway import bodies
from hearsay.collector.gateway.batch import FRAME_REPORTS, Batch
from hearsay.collector.gateway.refusals import Refusal
from hearsay.collector.survey.survey import Survey, parse
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import decode as decode_entries
from hearsay.mechanisms.exact.randomness import seeded
from tests.collector.gateway.running import reports_of
from tests.identity import survey_table

WIDE = {"name": "wide", "mechanism": "oue", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 300}}


def survey(size: int = 100) -> Survey:
    return parse(survey_table("identity", size))


@pytest.mark.parametrize("count", [1, 15, 16, 999, 1_000])
def test_the_header_says_how_many_reports_a_body_has(count: int) -> None:
    assert bodies.claimed(msgpack.packb([b"x"] * count)) == count


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "malformed"),
        (b"\x90", "malformed"),
        (b"\xdc\x00\x00", "malformed"),
        (b"\xdc", "malformed"),
        (b"\x80", "malformed"),
        (b"\xc4\x01x", "malformed"),
        (msgpack.packb([b"x"] * 1_001), "too-large"),
        (b"\xdd\xff\xff\xff\xff", "too-large"),
    ],
)
def test_what_is_no_array_of_1_to_1000_is_refused_at_once(body: bytes, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        bodies.claimed(body)
    assert refused.value.code == code


@pytest.mark.parametrize(
    "body",
    [
        b"\x91",
        b"\x91\xc4",
        b"\x91\xc4\x05x",
        b"\x91\xc4\x01xx",
        b"\x92\xc4\x01x",
        msgpack.packb([b"x", 1]),
        msgpack.packb([b"x", "text"]),
        msgpack.packb([b"x", [b"y"]]),
        msgpack.packb([b"x", {}]),
        b"\x91" * 2_000,
    ],
)
def test_a_body_that_is_no_array_of_bins_cannot_be_read(body: bytes) -> None:
    assert bodies.payloads(body) is None


@pytest.mark.parametrize("reports", [[b""], [b"x"], [b"x" * 255], [b"x" * 256], [b"x"] * 1_000])
def test_an_array_of_bins_is_read(reports: list[bytes]) -> None:
    assert bodies.payloads(msgpack.packb(reports)) == reports


@pytest.mark.parametrize("table", [survey_table("identity", 1_000), WIDE], ids=["numbers", "rows"])
def test_requests_decoded_together_are_those_decoded_alone(table: dict[str, object]) -> None:
    """Good reports stay with their request; bad ones, and requests that cannot be read, take nothing else along."""
    asked = parse(table)
    mechanism, wire = asked.mechanism, codec(asked.mechanism)
    good = reports_of(asked, list(range(20)))
    requests = [good[:1], good[1:5], [b"\xc1", *good[5:8], b"", b"\xce\xff\xff\xff\xff"], [b"\xc1"], good[8:]]
    packed = [msgpack.packb(request) for request in requests]
    packed.insert(2, b"\x92\xc4\x01x")
    decoded = bodies.decode(packed, mechanism, wire)
    assert decoded.malformed == {2}
    assert decoded.accepted.tolist() == [1, 4, 0, 3, 0, 12]
    assert decoded.rejected.tolist() == [0, 0, 0, 3, 1, 0]
    assert decoded.reasons.total() == 4
    for position, request in ((0, good[:1]), (1, good[1:5]), (3, good[5:8]), (5, good[8:])):
        alone = decode_entries(mechanism, [{b"r": report} for report in request], wire).reports
        mine = {name: column[decoded.owners == position] for name, column in decoded.reports.items()}
        assert {name: column.tolist() for name, column in mine.items()} == {
            name: column.tolist() for name, column in alone.items()
        }


def test_impossible_reports_are_rejected() -> None:
    """Those that a mechanism knows no value for, though their bytes are well formed."""
    table = {"name": "s", "mechanism": "ss", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 12}}
    asked = parse(table)
    good = reports_of(asked, [1, 2, 3])
    empty = bytes([good[0][0]]) + bytes(len(good[0]) - 1) if good[0][0] >= 0xC0 else b"\x00"
    decoded = bodies.decode([msgpack.packb([good[0], empty, good[1]])], asked.mechanism, codec(asked.mechanism))
    assert decoded.accepted.tolist() == [2]
    assert decoded.rejected.tolist() == [1]


def test_nothing_to_read_is_nothing() -> None:
    decoded = bodies.decode([b"\x91"], survey().mechanism, codec(survey().mechanism))
    assert decoded.owners.size == 0
    assert decoded.malformed == {0}


def test_a_batch_is_shuffled_as_a_whole_and_cut_into_frames() -> None:
    asked, size = survey(10_000), 2 * FRAME_REPORTS + 10
    wire = codec(asked.mechanism)
    values = np.arange(size, dtype=np.uint32)
    batch = Batch([1] * size, [b"x" * 12] * size, {"value": values}, np.arange(size))
    entries = list(batch.frames(wire, seeded(1)))
    assert [field for field, _ in entries] == [b"f"] * 3
    parts = [wire.decode_frames([frame], lambda *_: None)[0][1]["value"] for _, frame in entries]
    assert [len(part) for part in parts] == [FRAME_REPORTS, FRAME_REPORTS, 10]
    assert sorted(np.concatenate(parts).tolist()) == values.tolist()
    # A report's frame tells nothing of when it came: half of the first frame's come from each half.
    assert abs((parts[0] < size / 2).mean() - 0.5) < 0.05


def test_a_batch_without_some_requests_has_neither_their_ids_nor_their_reports() -> None:
    batch = Batch([5, 6, 5], [b"a" * 12, b"b" * 12, b"c" * 12], {"value": np.arange(6)}, np.array([2, 0, 1, 2, 1, 0]))
    assert batch.ids() == {5: b"a" * 12 + b"c" * 12, 6: b"b" * 12}
    assert batch.order == [0, 2, 1]
    rest, kept = batch.without({0})
    assert kept == [1, 2]
    assert rest.names == [b"b" * 12, b"c" * 12]
    assert rest.reports["value"].tolist() == [0, 2, 3, 4]
    assert rest.owners.tolist() == [1, 0, 1, 0]
