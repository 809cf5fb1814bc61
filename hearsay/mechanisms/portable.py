"""How a device draws a report, as data that programs in any language can follow: seven nodes. `docs/how-to/devices.md`.

A node turns a cell into a symbol. All that is random comes from 64-bit words: a **coin** compares a word with a
threshold out of 2^64, a **choice** counts the thresholds that a word reaches, a **draw** takes a word modulo a bound.
Thresholds are those of the mechanism, written as decimal strings: numbers of JSON hold 53 bits in many languages.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from hearsay.mechanisms.errors import NotPortable

Node = dict[str, Any]
LARGEST_TABLE = 1 << 16  # entries of a table: about a megabyte of JSON


def value_coin(size: int, truth: int) -> Node:
    """The cell itself with chance truth/2^64, else one of all `size` cells."""
    return {"node": "coin", "size": size, "truth": str(truth)}


def bits(size: int, own: int, other: int) -> Node:
    """A bit for each of `size` cells, set with chance own/2^64 at the device's cell and other/2^64 elsewhere."""
    return {"node": "bits", "size": size, "own": str(own), "other": str(other)}


def linear_hash(bits: int, rows: int, low_terms: int, keep: int, named: int = 1) -> Node:
    """A vector of `bits` bits and the cell's bucket under it: `rows` bits, among `named` buckets with chance keep."""
    return {"node": "hash", "bits": bits, "rows": rows, "low": low_terms, "named": named, "keep": str(keep)}


def haar_sign(nodes: int, flip: int) -> Node:
    """A character of `nodes` and the sign of the cell's half of its node there, flipped with chance flip/2^64."""
    return {"node": "haar", "nodes": nodes, "flip": str(flip)}


def table(outputs: Sequence[Sequence[int]], ends: Sequence[Sequence[int]]) -> Node:
    """For each cell its outputs, and the words at which all but the last of them end."""
    if sum(map(len, outputs)) > LARGEST_TABLE:
        raise NotPortable(f"the table of probabilities has more than {LARGEST_TABLE} entries; use Python's Device")
    return {
        "node": "table",
        "outputs": [list(map(int, row)) for row in outputs],
        "ends": [[str(int(end)) for end in row] for row in ends],
    }


def flipped_signs(sizes: Sequence[int], lengths: Sequence[int], flips: Sequence[int]) -> Node:
    """Along each axis of `size` cells `length` signs, + from the cell's on, each flipped with chance flip/2^64."""
    rows = zip(sizes, lengths, flips, strict=True)
    return {
        "node": "signs",
        "axes": [{"size": size, "length": length, "flip": str(flip)} for size, length, flip in rows],
    }


def part(draw: Node, span: int, shift: int = 0, units: int = 0, width: int = 1) -> Node:
    """What a device does at one level: its cell there is (cell // span + shift) % units // width; units 0: no %."""
    return {"span": span, "shift": shift, "units": units, "width": width, "draw": draw}


def level_choice(ends: Iterable[int], parts: Sequence[Node]) -> Node:
    """One of the levels, by the words at which all but the last of them end."""
    return {"node": "level", "ends": [str(int(end)) for end in ends], "parts": list(parts)}
