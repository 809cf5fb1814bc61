"""States take little room: deltas and chunks are packed where that pays, and what was stored before is still read."""

import msgpack
import numpy as np
import pytest
import redis

from hearsay.collector import limits
from hearsay.collector.errors import StateError
from hearsay.collector.store.reading import Reading
from hearsay.collector.store.registry import Registry
from hearsay.collector.store.shard import Commit, Shard
from hearsay.collector.store.state import (
    PACKED_CHUNKS,
    PACKED_DELTA,
    PLAIN_DELTA,
    WHOLE_CHUNKS,
    add_chunk,
    apply_delta,
    encode_chunk,
    encode_delta,
)
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.collector.writer import Writer
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.server.embedded import EmbeddedServer
from hearsay.workers.context import Context, current, set_current
from hearsay.workers.fold import fold_range
from tests.pipeline import cut_all

CELLS = limits.CHUNK_CELLS


def noise(scale: float, cells: int = CELLS) -> np.ndarray:
    return np.random.default_rng(4).normal(0, scale, cells).astype(np.int64)


def wide(client: redis.Redis, prefix: str, mechanism: str, bits: int) -> Shard:
    set_current(Context(client, prefix))
    table = {"name": "wide", "mechanism": mechanism, "epsilon": 1.1, "domain": {"kind": "ordinal", "size": 1 << bits}}
    return Registry(client, prefix).add(parse(table)).shards[0]


def frames(shard: Shard, number: int, reports: int = 4_096) -> list[tuple[bytes, bytes]]:
    mechanism = shard.survey.mechanism
    values = np.random.default_rng(7).normal(0.5, 0.12, number * reports).clip(0, 0.999) * mechanism.domain.size
    wire, drawn = codec(mechanism), mechanism.perturb(values.astype(np.int64), seeded(7))
    starts = range(0, number * reports, reports)
    parts = [{name: column[at : at + reports] for name, column in drawn.items()} for at in starts]
    return [(b"f", wire.encode_frame(part)) for part in parts]


@pytest.mark.parametrize("scale", [0.0, 0.01, 0.4, 3.0, 100.0, 40_000.0, 1e12])
def test_what_is_packed_is_the_same(scale: float) -> None:
    vector = noise(scale)
    for layout in (PLAIN_DELTA, PACKED_DELTA):
        again = np.ones(CELLS, dtype=np.int64)
        blob = encode_delta(vector, layout)
        if blob:
            apply_delta(again, blob)
        np.testing.assert_array_equal(again, vector + 1)
    for layout in (WHOLE_CHUNKS, PACKED_CHUNKS):
        again = np.zeros(CELLS, dtype=np.int64)
        add_chunk(again, encode_chunk(vector, layout))
        np.testing.assert_array_equal(again, vector)


def test_packing_is_left_where_it_does_not_pay() -> None:
    few = np.zeros(CELLS, dtype=np.int64)
    few[[3, 70, 900]] = 1, -1, 5
    assert encode_delta(few, PACKED_DELTA) == encode_delta(few, PLAIN_DELTA)
    random = np.random.default_rng(1).integers(-(1 << 61), 1 << 61, 1_000)
    assert encode_chunk(random, PACKED_CHUNKS) == random.astype("<i8").tobytes()


def test_damaged_numbers_are_refused() -> None:
    blob = encode_delta(noise(2.0), PACKED_DELTA)
    layout, cells, packed = msgpack.unpackb(blob)
    for wrong in (
        blob[:-9],
        msgpack.packb([layout, cells, packed[:-9]]),
        msgpack.packb([layout, cells, b"\xff" + packed]),
        msgpack.packb([layout, cells, [packed]]),
    ):
        with pytest.raises(StateError):
            apply_delta(np.zeros(cells, dtype=np.int64), wrong)
    with pytest.raises(StateError):  # few bytes that would become many
        apply_delta(np.zeros(64, dtype=np.int64), msgpack.packb([layout, 64, packed]))


def stored(shard: Shard, vector: np.ndarray, layout: int, deltas: int) -> Reading:
    """A window into which this vector was merged."""
    shard.publish("w", int(shard.look().meta.get("entries_in", 0)) + 1, [(b"r", b"\x00")], 1)
    (stretch,) = cut_all(shard)
    assert shard.commit(stretch, Commit("all", encode_delta(vector, deltas), 1)) == "ok"
    reading = shard.read("all")
    assert shard.compact(reading, layout)
    return reading


def test_older_layouts_are_read_and_packed_when_they_settle(client: redis.Redis, prefix: str) -> None:
    shard = wide(client, prefix, "haar", 17)
    first, second = noise(2.0, shard.cells), np.zeros(shard.cells, dtype=np.int64)
    second[5] = 7  # of the first chunk only
    stored(shard, first, WHOLE_CHUNKS, PLAIN_DELTA)
    assert client.hget(shard.keys.accumulator("all"), "layout") == b"1"
    reading = stored(shard, second, PACKED_CHUNKS, PACKED_DELTA)
    assert client.hget(shard.keys.accumulator("all"), "layout") == b"2"  # one chunk is packed, the others are as before
    assert reading.whole == shard.read("all").whole == set(range(1, -(-shard.cells // CELLS)))
    np.testing.assert_array_equal(shard.read("all").vector, first + second)
    assert shard.compact(reading, PACKED_CHUNKS, pack=True)
    assert shard.read("all").whole == reading.whole == set()
    np.testing.assert_array_equal(shard.read("all").vector, first + second)
    assert (
        stored(shard, second, WHOLE_CHUNKS, PLAIN_DELTA).layout == PACKED_CHUNKS
    )  # held back: what is packed stays so
    np.testing.assert_array_equal(shard.read("all").vector, first + 2 * second)


def chunk_bytes(client: redis.Redis, shard: Shard) -> int:
    pointers = client.hgetall(shard.keys.accumulator("all"))
    return sum(int(client.strlen(key)) for name, key in pointers.items() if name.startswith(b"chunk:"))


def test_a_settled_window_takes_a_tenth(client: redis.Redis, prefix: str) -> None:
    shard = wide(client, prefix, "haar", 20)
    current().agreement.forms = current().agreement.forms._replace(deltas=PACKED_DELTA)
    Writer(shard).publish(frames(shard, 256), 1 << 20)
    for stretch in cut_all(shard):
        assert fold_range("wide", shard.survey.tag8, 0, stretch.seq, stretch.nonce) == "ok"
    reading = shard.read("all")
    assert shard.compact(reading, PACKED_CHUNKS, pack=True)
    assert reading.folded == 1 << 20
    share = chunk_bytes(client, shard) / (8 * shard.cells)
    print(f"{share:.3f} of the int64 form")
    assert share <= 0.1


def test_a_report_of_a_large_tree_takes_eight_bytes_of_log(own_server: EmbeddedServer, prefix: str) -> None:
    """Stream, ledger, deltas and merges of a million reports, cut into 8 ranges, merged as an estimator does."""
    with redis.Redis.from_url(own_server.url) as client:
        shard = wide(client, prefix, "hierarchical", 20)
        current().agreement.forms = current().agreement.forms._replace(deltas=PACKED_DELTA)
        entries = frames(shard, 256)
        client.config_set("auto-aof-rewrite-percentage", 0)
        before = client.info("persistence")["aof_current_size"]
        writer, reading = Writer(shard), None
        for at in range(0, 256, 32):
            writer.publish(entries[at : at + 32], 1 << 17)
            for stretch in cut_all(shard):
                assert fold_range("wide", shard.survey.tag8, 0, stretch.seq, stretch.nonce) == "ok"
            reading = shard.read("all", reading)
            if reading.delta_bytes > 2 * shard.cells:
                assert shard.compact(reading, PACKED_CHUNKS)
            shard.trim()
        assert reading is not None
        assert shard.compact(reading, PACKED_CHUNKS)
        report_bytes = (client.info("persistence")["aof_current_size"] - before) / (1 << 20)
        print(f"{report_bytes:.2f} bytes a report")
        assert report_bytes <= 8
