"""The one description of a report: packing, listing, choosing and joining."""

import numpy as np
import pytest

from hearsay.mechanisms.layout import Layout, Scalar, Variant, Vector, length_of, select, smallest_unsigned


@pytest.mark.parametrize("bounds", [(5,), (3, 4), (7, 1, 6), (16, 2, 8), (1 << 40, 1 << 20)])
def test_unpack_is_the_inverse_of_pack(bounds: tuple[int, ...]) -> None:
    variant = Variant(tuple(Scalar(f"s{place}", bound) for place, bound in enumerate(bounds)))
    generator = np.random.default_rng(1)
    columns = {f"s{place}": generator.integers(0, bound, 500) for place, bound in enumerate(bounds)}
    symbols = variant.pack(columns)
    assert int(symbols.max()) < variant.alphabet
    for name, column in variant.unpack(symbols).items():
        np.testing.assert_array_equal(column, columns[name])


def test_the_first_scalar_is_the_most_significant() -> None:
    variant = Variant((Scalar("high", 3), Scalar("low", 10)))
    assert variant.pack({"high": np.array([2]), "low": np.array([7])}).tolist() == [27]


def test_listing_names_every_report_once_in_the_order_of_its_symbols() -> None:
    layout = Layout.of(Scalar("vector", 3), Scalar("bucket", 4))
    listed = layout.enumerate()
    assert layout.outcomes == length_of(listed) == 12
    assert layout.single.pack(listed).tolist() == list(range(12))


def test_listing_packs_bits_little_endian() -> None:
    listed = Layout.of(vector=Vector("bits", 3)).enumerate()
    assert listed["bits"][:, 0].tolist() == list(range(8))


def test_listing_digits_that_are_not_bits() -> None:
    listed = Layout.of(vector=Vector("digits", 2, 3)).enumerate()
    assert listed["digits"].tolist() == [[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1], [0, 2], [1, 2], [2, 2]]


def test_listing_is_refused_for_large_layouts() -> None:
    with pytest.raises(ValueError, match="too many"):
        Layout.of(vector=Vector("bits", 21)).enumerate()


def test_a_choice_keeps_one_variant_per_part_and_says_which() -> None:
    parts = (Layout.of(Scalar("a", 2), Scalar("b", 3)), Layout.of(Scalar("c", 5)), Layout.of(vector=Vector("v", 9)))
    layout = Layout.choice("level", parts)
    assert layout.offsets == (0, 6, 11, 12)
    assert layout.outcomes == 6 + 5 + 512
    assert layout.has_vectors
    listed = layout.enumerate()
    assert np.bincount(listed["level"]).tolist() == [6, 5, 512]
    assert listed["bits"].shape == (523, 2)
    assert len({tuple(row) for row in np.column_stack([listed["level"], listed["symbol"], listed["bits"]])}) == 523


def test_joining_fills_missing_columns_with_zeros_and_widens_narrow_vectors() -> None:
    parts = [
        {"level": np.array([0, 0], np.uint8), "symbol": np.array([3, 4], np.uint8)},
        {"level": np.array([1], np.uint8), "bits": np.array([[7, 8]], np.uint8)},
        {"level": np.array([2], np.uint8), "bits": np.array([[9]], np.uint8)},
    ]
    joined = Layout((Variant(),)).concatenate(parts)
    assert joined["symbol"].tolist() == [3, 4, 0, 0]
    assert joined["bits"].tolist() == [[0, 0], [0, 0], [7, 8], [9, 0]]


def test_selecting_and_narrow_types() -> None:
    reports = {"a": np.arange(4), "b": np.arange(8).reshape(4, 2)}
    assert select(reports, np.array([True, False, False, True]))["b"].tolist() == [[0, 1], [6, 7]]
    assert [smallest_unsigned(bound) for bound in (1, 256, 257, 65_536, 65_537, 1 << 33)] == [
        np.uint8, np.uint8, np.uint16, np.uint16, np.uint32, np.uint64,
    ]  # fmt: skip
