"""Fleets of simulated devices: many values perturbed at once, encoded, and published at a given rate.

A fleet does what as many `Device`s would do, with the same code of the mechanism; only the calls are batched.
"""

from collections.abc import Iterator

from collector.limits import FRAME_BYTES
from collector.wire import Codec
from mechanisms import Mechanism, Reports
from mechanisms.domain import Indices
from mechanisms.layout import length_of, select
from mechanisms.randomness import Random

FRAME = 4_096  # reports in a frame, unless asked otherwise
BATCH_REPORTS = 65_536  # reports perturbed at once: large enough for numpy, small enough for progress
BATCH_BYTES = 64 << 20  # wide reports (long bit vectors): bounds the memory of a batch


def frames(
    mechanism: Mechanism, wire: Codec, cells: Indices, random: Random, size: int = FRAME
) -> Iterator[tuple[bytes, int]]:
    """The devices' reports in frames of at most `size`, each with the number of its reports."""
    size = max(1, min(size, FRAME_BYTES // 2 // _report_bytes(wire)))
    for reports in _perturbed(mechanism, wire, cells, random):
        for start in range(0, length_of(reports), size):
            part = select(reports, slice(start, start + size))
            yield wire.encode_frame(part), length_of(part)


def singles(mechanism: Mechanism, wire: Codec, cells: Indices, random: Random) -> Iterator[bytes]:
    """The devices' reports one by one."""
    for reports in _perturbed(mechanism, wire, cells, random):
        yield from wire.encode_singles(reports)


def _perturbed(mechanism: Mechanism, wire: Codec, cells: Indices, random: Random) -> Iterator[Reports]:
    batch = max(1, min(BATCH_REPORTS, BATCH_BYTES // _report_bytes(wire)))
    for start in range(0, len(cells), batch):
        yield mechanism.perturb(cells[start : start + batch], random)


def _report_bytes(wire: Codec) -> int:
    return max(1, *(variant.row_bytes for variant in wire.variants), 1)
