"""Report layouts of every shape, beyond those that today's mechanisms have, and reports drawn from them."""

import numpy as np

from hearsay.mechanisms.layout import Layout, Reports, Scalar, Vector, smallest_unsigned

LAYOUTS = {
    "one outcome": Layout.of(Scalar("a", 1)),
    "bit": Layout.of(Scalar("a", 2)),
    "three values": Layout.of(Scalar("a", 3)),
    "two scalars": Layout.of(Scalar("a", 5), Scalar("b", 7)),
    "integer of 5 bytes": Layout.of(Scalar("a", 1 << 32)),
    "just no integer": Layout.of(Scalar("a", (1 << 32) + 1)),
    "largest symbol": Layout.of(Scalar("a", 1 << 20), Scalar("b", 1 << 37)),
    "few bits": Layout.of(vector=Vector("bits", 11)),
    "bits of a symbol": Layout.of(vector=Vector("bits", 57)),
    "bits of a row": Layout.of(vector=Vector("bits", 58)),
    "whole bytes": Layout.of(vector=Vector("bits", 64)),
    "many bits": Layout.of(vector=Vector("bits", 1_001)),
    "few digits": Layout.of(vector=Vector("digits", 9, 3)),
    "many digits": Layout.of(vector=Vector("digits", 50, 5)),
    "scalar and bits": Layout.of(Scalar("a", 10), vector=Vector("bits", 13)),
    "scalar and many bits": Layout.of(Scalar("a", 300), Scalar("b", 3), vector=Vector("bits", 61)),
    "scalar and many digits": Layout.of(Scalar("a", 300), vector=Vector("digits", 40, 6)),
    "levels": Layout.choice("level", (Layout.of(Scalar("a", 2)), Layout.of(Scalar("a", 1)), Layout.of(Scalar("a", 9)))),
    "levels of bits": Layout.choice("level", tuple(Layout.of(vector=Vector("v", 1 << k)) for k in range(1, 5))),
    "levels of many bits": Layout.choice(
        "level",
        (
            Layout.of(Scalar("a", 6)),
            Layout.of(vector=Vector("v", 9)),
            Layout.of(Scalar("a", 1)),
            Layout.of(vector=Vector("v", 100)),
        ),
    ),
}


def draw(layout: Layout, count: int, seed: int = 1) -> Reports:
    """Random reports: every variant, and in each the largest value of every field."""
    generator = np.random.default_rng(seed)
    sizes = np.bincount(np.arange(count) % len(layout.variants), minlength=len(layout.variants))
    parts = []
    for index, (variant, size) in enumerate(zip(layout.variants, sizes.tolist(), strict=True)):
        columns: Reports = {}
        for scalar in variant.scalars:
            values = generator.integers(0, scalar.bound, size, dtype=np.uint64)
            values[:1] = scalar.bound - 1
            columns[scalar.name] = values.astype(smallest_unsigned(scalar.bound))
        if variant.vector is not None:
            bound, length = variant.vector.bound, variant.vector.length
            digits = generator.integers(0, bound, (size, length), dtype=np.uint8)
            digits[:1] = bound - 1
            columns[variant.vector.name] = np.packbits(digits, axis=1, bitorder="little") if bound == 2 else digits
        if layout.selector is not None:
            columns[layout.selector] = np.full(size, index, dtype=np.uint8)
        if size:
            parts.append(columns)
    order = generator.permutation(count)
    return {name: column[order] for name, column in layout.concatenate(parts).items()}


def rows(layout: Layout, reports: Reports) -> list[tuple[int, ...]]:
    """Each report as plain integers: variant, scalars, vector; what a variant does not have is left out."""
    result = []
    for position in range(len(next(iter(reports.values())))):
        index = int(reports[layout.selector][position]) if layout.selector else 0
        variant = layout.variants[index]
        row = [index, *(int(reports[scalar.name][position]) for scalar in variant.scalars)]
        if variant.vector is not None:
            row += reports[variant.vector.name][position][: variant.vector.width].tolist()
        result.append(tuple(row))
    return result
