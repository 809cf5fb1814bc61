"""Reports as bytes and back: every mechanism, every shape of report, singles and frames, small enough."""

from math import ceil, log2

import msgpack
import numpy as np
import pytest

from hearsay.collector import limits
from hearsay.collector.wire.codec import Codec, Positions, codec
from hearsay.collector.wire.decode import Decoded, decode
from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.layout import Layout, Reports, Vector, length_of, select
from tests.collector.layouts import LAYOUTS, draw, rows
from tests.mechanisms.shared import LISTED_CASES, Case, skewed_cells

# Domains of the size that surveys really have, where the examples are small.
OUE_LEVELS = {"oracle": "oue", "fanout": 4}
LARGE = [
    {"mechanism": "hrr", "epsilon": 1.1, "domain": {"kind": "categorical", "size": 1_000}},
    {"mechanism": "hrr", "epsilon": 1.1, "domain": {"kind": "categorical", "size": 1 << 20}},
    {"mechanism": "olh", "epsilon": 2.0, "domain": {"kind": "categorical", "size": 1 << 22}},
    {"mechanism": "grr", "epsilon": 3.0, "domain": {"kind": "categorical", "size": 100}},
    {"mechanism": "oue", "epsilon": 1.1, "domain": {"kind": "categorical", "size": 57}},
    {"mechanism": "oue", "epsilon": 1.1, "domain": {"kind": "categorical", "size": 1_024}},
    {"mechanism": "ss", "epsilon": 1.1, "domain": {"kind": "categorical", "size": 40}},
    {"mechanism": "metric-l1", "epsilon": 0.1, "domain": {"kind": "grid", "sizes": [100, 50]}},
    {"mechanism": "matrix", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 40}},
    {"mechanism": "haar", "epsilon": 1.1, "domain": {"kind": "ordinal", "size": 1 << 16}},
    {"mechanism": "hierarchical", "epsilon": 1.1, "domain": {"kind": "ordinal", "size": 256}, "options": OUE_LEVELS},
]


@pytest.fixture(
    params=[*LISTED_CASES, *(Case(f"large-{i}", table) for i, table in enumerate(LARGE))], ids=lambda c: c.name
)
def mechanism(request: pytest.FixtureRequest) -> Mechanism:
    case: Case = request.param
    return case.build()


@pytest.fixture(params=LAYOUTS.values(), ids=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> Layout:
    found: Layout = request.param
    return found


def entropy_bits(layout: Layout, reports: dict[str, np.ndarray]) -> float:
    """What the reports say, at least: the logarithm of how many different ones their variants have."""
    wire = Codec(layout)
    chosen = reports[layout.selector] if layout.selector else np.zeros(length_of(reports), dtype=np.uint8)
    counts = np.bincount(chosen, minlength=len(wire.variants)).tolist()
    return sum(count * log2(variant.outcomes) for count, variant in zip(counts, wire.variants, strict=True))


def from_frames(
    wire: Codec, payloads: list[bytes]
) -> tuple[list[tuple[Positions, Reports]], list[tuple[int, str, int | None]]]:
    """What frames hold, and what is refused of them."""
    refused: list[tuple[int, str, int | None]] = []
    parts = wire.decode_frames(payloads, lambda *refusal: refused.append(refusal))
    return parts, refused


def single(payload: bytes) -> dict[bytes, bytes]:
    return {b"r": payload}


def framed(payload: bytes) -> dict[bytes, bytes]:
    return {b"f": payload}


def same_state(mechanism: Mechanism, decoded: Decoded, reports: dict[str, np.ndarray]) -> None:
    expected = mechanism.fold(mechanism.empty(), reports)
    found = mechanism.fold(mechanism.empty(), decoded.reports)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("form", ["single", "frame", "mixed"])
def test_every_mechanism_folds_what_was_sent(mechanism: Mechanism, form: str) -> None:
    count = 600
    reports = mechanism.perturb(skewed_cells(mechanism, count), seeded(21))
    wire = codec(mechanism)
    if form == "single":
        entries = [single(payload) for payload in wire.encode_singles(reports)]
    elif form == "frame":
        entries = [framed(wire.encode_frame(reports))]
    else:
        entries = []
        for start in range(0, count, 100):
            part = select(reports, slice(start, start + 50))
            entries += [single(payload) for payload in wire.encode_singles(part)]
            entries += [framed(wire.encode_frame(select(reports, slice(start + 50, start + 100))))]
    decoded = decode(mechanism, entries, wire)
    assert (decoded.count, decoded.rejected, decoded.rejected_entries) == (count, {}, [])
    assert sorted(rows(mechanism.layout, decoded.reports)) == sorted(rows(mechanism.layout, reports))
    same_state(mechanism, decoded, reports)


@pytest.mark.parametrize("count", [1, 5, 203])
def test_every_layout_comes_back_from_singles_in_place(layout: Layout, count: int) -> None:
    wire, reports = Codec(layout), draw(layout, count)
    parts = wire.decode_singles(wire.encode_singles(reports), lambda position, reason: pytest.fail(reason))
    expected = rows(layout, reports)
    seen = 0
    for positions, part in parts:
        assert rows(layout, part) == [expected[position] for position in positions]
        seen += len(positions)
    assert seen == count


@pytest.mark.parametrize("count", [1, 5, 203])
def test_every_layout_comes_back_from_a_frame(layout: Layout, count: int) -> None:
    wire, reports = Codec(layout), draw(layout, count)
    parts, refused = from_frames(wire, [wire.encode_frame(reports)])
    assert refused == []
    assert sorted(row for _, part in parts for row in rows(layout, part)) == sorted(rows(layout, reports))


@pytest.mark.parametrize("batch", [1, 40, 1 << 15])
def test_frames_are_decoded_together_and_refused_one_by_one(
    layout: Layout, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hearsay.collector.wire.codec.BATCH_REPORTS", batch)
    wire, reports = Codec(layout), [draw(layout, count) for count in (1, 30, 7, 64, 2)]
    payloads = [wire.encode_frame(each) for each in reports]
    payloads[2:2] = [b"\xc1", msgpack.packb([1, [0, 3, b""]])]  # no msgpack, and a section that is too short
    parts, refused = from_frames(wire, payloads)
    if wire.variants[0].size(3):
        assert refused == [(2, "not-msgpack", None), (3, "wrong-length", None)]
    for position, sent in zip((0, 1, 4, 5, 6), reports, strict=True):
        found = [row for origins, part in parts for row in rows(layout, select(part, origins == position))]
        assert sorted(found) == sorted(rows(layout, sent))


@pytest.mark.parametrize("name", [name for name, layout in LAYOUTS.items() if layout.outcomes <= limits.FRAME_REPORTS])
def test_every_single_report_of_a_small_layout_is_different_and_comes_back(name: str) -> None:
    layout = LAYOUTS[name]
    everything, wire = layout.enumerate(), Codec(layout)
    payloads = wire.encode_singles(everything)
    assert len(set(payloads)) == layout.outcomes
    if wire.single_integer:
        assert {msgpack.unpackb(payload) for payload in payloads} == set(range(layout.outcomes))
    parts, refused = from_frames(wire, [wire.encode_frame(everything)])
    assert refused == []
    assert sorted(row for _, part in parts for row in rows(layout, part)) == sorted(rows(layout, everything))


def test_a_single_report_is_as_small_as_msgpack_allows(mechanism: Mechanism) -> None:
    """The bytes of its number, plus 1 for a type byte, or 2 where msgpack has no integer of that width.

    A long vector of digits may take 4% more bits than its number.
    """
    wire = codec(mechanism)
    waste = 1.04 if any(variant.digits is not None for variant in wire.variants) else 1.0
    needed = ceil(waste * log2(sum(variant.outcomes for variant in wire.variants)) / 8)
    largest = max(map(len, wire.encode_singles(mechanism.perturb(skewed_cells(mechanism, 300), seeded(2)))))
    if wire.single_integer:
        assert largest <= needed + (1 if needed != 3 else 2)
    else:
        selector = len(wire.variants) > 1
        envelope = 2 if needed + selector < 256 else 3 if needed + selector < 65_536 else 5
        assert largest <= needed + selector + envelope


@pytest.mark.parametrize(
    ("bits", "size"),
    [(1, 1), (7, 1), (8, 2), (9, 3), (16, 3), (17, 5), (32, 5), (33, 7), (40, 7), (57, 10), (64, 10), (2_041, 259)],
)
def test_sizes_of_single_reports_as_documented(bits: int, size: int) -> None:
    layout = Layout.of(vector=Vector("bits", bits))
    payloads = Codec(layout).encode_singles(draw(layout, 1))
    assert len(payloads[0]) == size


def test_a_frame_is_at_most_a_tenth_above_its_entropy(mechanism: Mechanism) -> None:
    reports = mechanism.perturb(skewed_cells(mechanism, 4_096), seeded(3))
    frame = codec(mechanism).encode_frame(reports)
    assert len(frame) <= 1.10 * entropy_bits(mechanism.layout, reports) / 8


def test_no_reports_are_no_singles_and_a_frame_that_is_refused(layout: Layout) -> None:
    wire, nothing = Codec(layout), select(draw(layout, 4), slice(0, 0))
    assert wire.encode_singles(nothing) == []
    assert from_frames(wire, [wire.encode_frame(nothing)]) == ([], [(0, "wrong-length", None)])


@pytest.mark.parametrize("name", ["many digits", "scalar and many digits"])
def test_padding_of_a_single_report_is_zero(name: str) -> None:
    """One report has one form: bits and digits that fill up the last byte and the last group mean nothing."""
    layout = LAYOUTS[name]
    wire = Codec(layout)
    zeros = {column: np.zeros_like(values) for column, values in draw(layout, 1).items()}
    row = msgpack.unpackb(wire.encode_singles(zeros)[0])
    assert not any(row)
    vector = layout.single.vector
    assert vector is not None
    forms = 0
    for bit in range(8 * len(row)):
        changed = int.from_bytes(row, "little") ^ 1 << bit
        payload = msgpack.packb(changed.to_bytes(len(row), "little"))
        for _, part in wire.decode_singles([payload], lambda position, reason: None):
            if length_of(part):
                assert wire.encode_singles(part) == [payload]
                forms += 1
    assert forms > 2 * vector.length


def test_nothing_in_is_nothing_out(mechanism: Mechanism) -> None:
    decoded = decode(mechanism, [], codec(mechanism))
    assert (decoded.reports, decoded.count, decoded.rejected) == ({}, 0, {})


def hrr(size: int) -> Mechanism:
    return build({"mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": size}})


@pytest.mark.parametrize("damaged", [[0], [5], [299], [0, 1, 2], [7, 100, 250]])
def test_elements_of_a_frame_are_masked_one_by_one(damaged: list[int]) -> None:
    mechanism = hrr(1_000)  # 2046 symbols in 11 bits: 2046 and 2047 are no reports
    wire, reports = codec(mechanism), mechanism.perturb(np.arange(300), seeded(4))
    version, (index, count, packed) = msgpack.unpackb(wire.encode_frame(reports))
    number = int.from_bytes(packed, "little")
    for place in damaged:
        number |= 2_047 << 11 * place
    entry = framed(msgpack.packb([version, [index, count, number.to_bytes(len(packed), "little")]]))
    decoded = decode(mechanism, [entry], wire)
    kept = select(reports, np.delete(np.arange(300), damaged))
    assert rows(mechanism.layout, decoded.reports) == rows(mechanism.layout, kept)
    assert decoded.rejected == {"outside-domain": (0, len(damaged))}
    assert decoded.rejected_entries == [(0, "outside-domain")]
    same_state(mechanism, decoded, kept)


def test_digits_that_run_on_from_report_to_report_are_masked_where_they_are_hit() -> None:
    layout = LAYOUTS["many digits"]  # 50 digits below 5, three of them in seven bits: 16 2/3 groups a report
    wire, reports = Codec(layout), draw(layout, 30)
    frame = msgpack.unpackb(wire.encode_frame(reports))
    number = int.from_bytes(frame[1][2], "little") | 127 << 7 * 16  # digits 48 and 49 of the first, 0 of the second
    frame[1][2] = number.to_bytes(len(frame[1][2]), "little")
    ((_, part),), refused = from_frames(wire, [msgpack.packb(frame)])
    assert refused == [(0, "outside-domain", 2)]
    assert rows(layout, part) == rows(layout, select(reports, slice(2, None)))


@pytest.mark.parametrize("name", ["bits of a row", "many bits", "scalar and many digits", "scalar and many bits"])
def test_rows_of_a_frame_are_masked_one_by_one(name: str) -> None:
    layout = LAYOUTS[name]
    wire, reports = Codec(layout), draw(layout, 50)
    frame = msgpack.unpackb(wire.encode_frame(reports))
    packed = bytearray(frame[1][2])
    width = len(packed) // 50
    for place in (0, 17, 49):
        packed[(place + 1) * width - 1] = 0xFF  # padding bits, or digits above their bound
    frame[1][2] = bytes(packed)
    ((_, part),), refused = from_frames(wire, [msgpack.packb(frame)])
    assert refused == [(0, "outside-domain", 3)]
    assert rows(layout, part) == rows(layout, select(reports, np.delete(np.arange(50), [0, 17, 49])))


@pytest.mark.parametrize("form", ["single", "frame"])
def test_reports_that_no_device_sends_are_refused_where_they_came_from(form: str) -> None:
    """Subset selection names a fixed number of cells: one more or less is in the layout but impossible."""
    mechanism = build({"mechanism": "ss", "epsilon": 1.1, "domain": {"kind": "categorical", "size": 6}})
    wire, reports = codec(mechanism), mechanism.perturb(np.arange(6), seeded(5))
    broken = {"bits": reports["bits"].copy()}
    broken["bits"][[1, 4]] = 0
    good = framed(wire.encode_frame(reports))
    if form == "single":
        entries = [good, *(single(payload) for payload in wire.encode_singles(broken)), good]
        refused, counts = [(2, "impossible"), (5, "impossible")], [2, 2]
    else:
        entries = [good, framed(wire.encode_frame(broken)), good]
        refused, counts = [(1, "impossible")], [0, 2]
    decoded = decode(mechanism, entries, wire)
    assert decoded.rejected_entries == refused
    assert decoded.rejected == {"impossible": tuple(counts)}
    assert decoded.count == 6 + 4 + 6


@pytest.mark.parametrize("size", [33, 53, 54, 56, 57, 58])
def test_the_largest_symbol_is_a_report_like_any_other(size: int) -> None:
    mechanism = build({"mechanism": "oue", "epsilon": 1.0, "domain": {"kind": "categorical", "size": size}})
    wire = codec(mechanism)
    ones = {"bits": np.packbits(np.ones((3, size), dtype=np.uint8), axis=1, bitorder="little")}
    decoded = decode(mechanism, [*map(single, wire.encode_singles(ones)), framed(wire.encode_frame(ones))], wire)
    assert (decoded.count, decoded.rejected) == (6, {})


@pytest.mark.parametrize(
    "payload", [b"\x05", b"\xcc\x05", b"\xcd\x00\x05", b"\xce\x00\x00\x00\x05", b"\xcf" + bytes(7) + b"\x05"]
)
def test_a_number_may_be_written_in_any_unsigned_width(payload: bytes) -> None:
    mechanism = hrr(6)
    assert decode(mechanism, [single(payload)], codec(mechanism)).count == 1
