"""Stream entries as reports: whatever is malformed is rejected by itself and loses nothing else.

An entry has exactly one of `r` (a single report) and `f` (a frame), and `k` where the survey has rounds.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hearsay.collector.wire.codec import Codec, Positions
from hearsay.collector.wire.rejections import Rejections
from hearsay.mechanisms import Reports
from hearsay.mechanisms.layout import length_of, select
from hearsay.mechanisms.roles import WorkerSide

FIELD_SINGLE, FIELD_FRAME, FIELD_ROUND = b"r", b"f", b"k"


@dataclass
class Decoded:
    """What a list of stream entries holds: valid reports, and what was rejected."""

    reports: Reports
    count: int = 0
    rejected: Rejections = field(default_factory=Rejections)
    rejected_entries: list[tuple[int, str]] = field(default_factory=list)  # position in the list, reason


class AskedRound(NamedTuple):
    """The round that entries must answer; before it is opened, nobody knows how to read them."""

    round_number: int
    opened: bool


def _why_not(entry: dict[bytes, bytes], asked: AskedRound | None) -> str | None:
    """Why an entry is rejected before its payload is looked at; None: it is not."""
    fields = 1
    if asked is not None:
        fields, stated = 2, entry.get(FIELD_ROUND)
        number = int(stated) if stated is not None and stated.isdigit() and len(stated) <= 9 else None
        if number is not None and 0 < number < asked.round_number:
            return "late-round"
        if number != asked.round_number or not asked.opened:
            return "wrong-round"
    if len(entry) != fields or not (FIELD_FRAME in entry or FIELD_SINGLE in entry):
        return "unknown-field"
    return None


def decode(
    mechanism: WorkerSide, entries: list[dict[bytes, bytes]], codec: Codec, asked: AskedRound | None = None
) -> Decoded:
    """All valid reports of stream entries; `asked` is their round where the survey has rounds."""
    result = Decoded({})
    frames: list[bytes] = []
    frame_positions: list[int] = []
    singles: list[bytes] = []
    single_positions: list[int] = []
    rejected: list[tuple[int, str]] = []
    for position, entry in enumerate(entries):
        if asked is None and len(entry) == 1 and FIELD_SINGLE in entry:  # most entries, in a hurry
            singles.append(entry[FIELD_SINGLE])
            single_positions.append(position)
            continue
        reason = _why_not(entry, asked)
        if reason is not None:
            result.rejected.add(reason, 1, int(reason != "unknown-field" and FIELD_SINGLE in entry))
            rejected.append((position, reason))
        elif FIELD_FRAME in entry:
            frames.append(entry[FIELD_FRAME])
            frame_positions.append(position)
        else:
            singles.append(entry[FIELD_SINGLE])
            single_positions.append(position)

    def reject_frame(position: int, reason: str, elements: int | None) -> None:
        result.rejected.add(reason, 1 if elements is None else 0, elements or 0)
        rejected.append((frame_positions[position], reason))

    def reject_single(position: int, reason: str) -> None:
        result.rejected.add(reason, 1, 1)
        result.rejected_entries.append((single_positions[position], reason))

    parts: list[tuple[Positions, Reports]] = []  # with the position of the entry that each report came in
    if frames:
        where = np.array(frame_positions, dtype=np.intp)
        parts.extend((where[chosen], part) for chosen, part in codec.decode_frames(frames, reject_frame))
    result.rejected_entries.extend(sorted(rejected))
    if singles:
        where = np.array(single_positions, dtype=np.intp)
        parts.extend((where[chosen], part) for chosen, part in codec.decode_singles(singles, reject_single))
    parts = [(origin, part) for origin, part in parts if origin.size]
    if not parts:
        return result
    reports = parts[0][1] if len(parts) == 1 else codec.layout.concatenate([part for _, part in parts])
    possible = mechanism.valid(reports)
    if possible is not None and not possible.all():
        origins = np.concatenate([origin for origin, _ in parts])[~possible].tolist()
        result.rejected.add("impossible", sum(FIELD_SINGLE in entries[position] for position in origins), len(origins))
        result.rejected_entries.extend((position, "impossible") for position in dict.fromkeys(origins))
        reports = select(reports, possible)
    result.reports, result.count = reports, length_of(reports)
    return result
