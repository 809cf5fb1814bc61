"""States as vectors: deltas add exactly, in whichever form and width they travel."""

from contextlib import suppress

import msgpack
import numpy as np
import pytest

from hearsay.collector.errors import StateError
from hearsay.collector.limits import CHUNK_CELLS
from hearsay.collector.store import state as accumulator
from hearsay.collector.store.state import apply_delta, cells_of, check_overflow, encode_delta, flatten, unflatten
from hearsay.mechanisms import Mechanism, merge
from hearsay.mechanisms.exact.randomness import seeded
from tests.mechanisms.shared import LISTED_CASES, Case, skewed_cells

# Where a signed type ends: one byte holds -128..127, two hold -32768..32767, and so on.
ENDS = [sign * (1 << bits) + step for bits in (7, 15, 31) for sign in (-1, 1) for step in (-1, 0, 1)]


@pytest.fixture(params=LISTED_CASES, ids=lambda case: case.name)
def mechanism(request: pytest.FixtureRequest) -> Mechanism:
    case: Case = request.param
    return case.build()


def sparse(cells: int, value: int) -> np.ndarray:
    vector = np.zeros(cells, dtype=np.int64)
    vector[cells // 3] = value
    return vector


def test_a_state_survives_being_a_vector(mechanism: Mechanism) -> None:
    state = mechanism.fold(mechanism.empty(), mechanism.perturb(skewed_cells(mechanism, 500), seeded(5)))
    vector = flatten(mechanism, state)
    assert vector.dtype == np.int64
    assert vector.shape == (cells_of(mechanism),)
    again = unflatten(mechanism, vector.copy())
    assert list(again) == list(mechanism.arrays)
    for name, shape in mechanism.arrays.items():
        assert again[name].shape == shape
        np.testing.assert_array_equal(again[name], state[name])


def test_unflattened_arrays_are_views(mechanism: Mechanism) -> None:
    vector = np.zeros(cells_of(mechanism), dtype=np.int64)
    for array in unflatten(mechanism, vector).values():
        array += 1
    assert (vector == 1).all()


def test_deltas_of_parts_add_up_to_the_whole(mechanism: Mechanism) -> None:
    random, whole, vector = seeded(6), mechanism.empty(), np.zeros(cells_of(mechanism), dtype=np.int64)
    for size in (1, 2, 300, 700):
        part = mechanism.fold(mechanism.empty(), mechanism.perturb(skewed_cells(mechanism, size), random))
        apply_delta(vector, encode_delta(flatten(mechanism, part)))
        merge(whole, part)
    np.testing.assert_array_equal(vector, flatten(mechanism, whole))


@pytest.mark.parametrize("value", ENDS)
@pytest.mark.parametrize("cells", [2, 1_000], ids=["dense", "sparse"])
def test_every_width_holds_its_ends(value: int, cells: int) -> None:
    vector = sparse(cells, value)
    result = np.full(cells, 7, dtype=np.int64)
    apply_delta(result, encode_delta(vector))
    np.testing.assert_array_equal(result, vector + 7)


@pytest.mark.parametrize(
    ("value", "width"), [(-128, 1), (127, 1), (128, 2), (-129, 2), (32_639, 2), (32_640, 3), (1 << 30, 4), (1 << 61, 8)]
)
def test_a_number_takes_as_many_bytes_as_it_needs(value: int, width: int) -> None:
    _, _, sections = msgpack.unpackb(encode_delta(sparse(1_000, value)))
    assert [len(values) for _, values in sections] == [1] * width


def test_one_large_number_does_not_widen_the_others() -> None:
    vector = np.zeros(100_000, dtype=np.int64)
    vector[::10] = 3
    narrow = len(encode_delta(vector))
    vector[70] = 1 << 40
    assert len(encode_delta(vector)) < narrow + 50
    assert narrow < 3.01 * 10_000


@pytest.mark.parametrize("gap", [1, 2, 65_535, 65_536, 65_537, 131_072, 131_073, 1_000_000])
def test_steps_of_every_length_come_back(gap: int) -> None:
    vector = np.zeros(4 * gap + 9, dtype=np.int64)
    vector[gap::gap] = [5, -300, 70_000, 1, 2, 3, 4, 5, 6, 7, 8, 9][: vector[gap::gap].size]
    result = np.zeros_like(vector)
    touched = apply_delta(result, encode_delta(vector))
    np.testing.assert_array_equal(result, vector)
    assert set((np.flatnonzero(vector) // CHUNK_CELLS).tolist()) <= touched


@pytest.mark.parametrize("density", [0.0, 0.001, 0.1, 0.5, 0.9, 1.0])
def test_random_deltas_round_trip_and_name_their_chunks(density: float) -> None:
    generator = np.random.default_rng(int(density * 1_000))
    cells = 3 * CHUNK_CELLS + 17
    for magnitude in (1, 100, 40_000, 1 << 40):
        values = generator.integers(-magnitude, magnitude, cells, endpoint=True)
        vector = np.where(generator.random(cells) < density, values, 0)
        blob, result = encode_delta(vector), np.zeros(cells, dtype=np.int64)
        touched = apply_delta(result, blob) if blob else set()
        np.testing.assert_array_equal(result, vector)
        assert set(np.unique(np.flatnonzero(vector) // CHUNK_CELLS).tolist()) <= touched <= {0, 1, 2, 3}


def test_nothing_changed_is_nothing_sent() -> None:
    assert encode_delta(np.zeros(1_000, dtype=np.int64)) == b""


def test_the_smaller_form_is_sent() -> None:
    few, many = sparse(100_000, 1), np.ones(100_000, dtype=np.int64)
    assert len(encode_delta(few)) < 32
    assert 100_000 < len(encode_delta(many)) < 100_032


def test_a_sparse_delta_names_only_the_chunks_it_touches() -> None:
    vector = np.zeros(4 * CHUNK_CELLS, dtype=np.int64)
    vector[[5, 2 * CHUNK_CELLS, 3 * CHUNK_CELLS - 1]] = 1
    assert apply_delta(np.zeros_like(vector), encode_delta(vector)) == {0, 2}


def test_a_delta_of_another_size_is_refused() -> None:
    with pytest.raises(StateError, match="delta must have 11 cells, got 10"):
        apply_delta(np.zeros(11, dtype=np.int64), encode_delta(sparse(10, 1)))


@pytest.mark.parametrize("layout", [1, 4])
def test_a_delta_of_another_layout_is_refused(layout: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accumulator, "PLAIN_DELTA", layout)
    other = encode_delta(sparse(10, 1))
    monkeypatch.undo()
    with pytest.raises(StateError, match=f"delta layout must be 2 or 3, got {layout}"):
        apply_delta(np.zeros(10, dtype=np.int64), other)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xc1garbage",
        msgpack.packb(7),
        msgpack.packb([2, 10]),
        msgpack.packb(["2", 10, []]),
        msgpack.packb([2, 10, [[None, b"\x01"]]]),  # one number for ten cells
        msgpack.packb([2, 10, [[b"\x0a\x00", b"\x01"]]]),  # the eleventh cell
        msgpack.packb([2, 10, [[b"\x00\x00\x00\x00", b"\x01"]]]),  # two cells, one number
        msgpack.packb([2, 10, [[b"\x00", b"\x01"]]]),  # half a step
        msgpack.packb([1, 10, 3, None, b"\x01" * 30]),  # numbers of three bytes
        msgpack.packb([1, 10, 1, b"\x00\x00\x00\x00", b"\x01\x01"]),
    ],
)
def test_what_is_no_delta_is_refused(content: bytes) -> None:
    with pytest.raises(StateError, match=f"delta of {len(content)} bytes is damaged"):
        apply_delta(np.zeros(10, dtype=np.int64), content)


def test_a_delta_with_any_byte_changed_is_a_delta_or_refused() -> None:
    generator = np.random.default_rng(5)
    vector = np.where(generator.random(200) < 0.2, generator.integers(-40_000, 40_000, 200), 0)
    blob = encode_delta(vector)
    for place in range(len(blob)):
        for value in (0, 1, 0x7F, 0x80, 0xC0, 0xC1, 0xFF):
            with suppress(StateError):
                apply_delta(np.zeros(200, dtype=np.int64), blob[:place] + bytes([value]) + blob[place + 1 :])


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("cells", [2, 1_000], ids=["dense", "sparse"])
def test_overflow_is_an_error_and_never_a_wrong_number(sign: int, cells: int) -> None:
    vector = sparse(cells, sign * ((1 << 62) - 1))
    check_overflow(vector)
    with pytest.raises(StateError, match="overflow"):
        apply_delta(vector, encode_delta(sparse(cells, sign)))
