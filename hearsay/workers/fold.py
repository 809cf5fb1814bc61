"""The one job: read a range, decode, reject malformed entries, fold, commit.

RQ may deliver it never, once or often; COMMIT takes the first delivery and refuses the others.
"""

import hashlib
import time

from hearsay.collector.errors import CollectorError, UnknownSurvey
from hearsay.collector.limits import DEAD_LETTER_BYTES, DEAD_LETTERS_PER_COMMIT
from hearsay.collector.store.dead_letters import DeadLetter
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.shard import Commit, Shard
from hearsay.collector.store.state import PLAIN_DELTA, encode_delta, fresh
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import AskedRound, Decoded, decode
from hearsay.mechanisms.roles import WorkerSide
from hearsay.workers.context import current

Entries = list[tuple[bytes, dict[bytes, bytes]]]


def fold_range(name: str, tag8: str, shard_number: int, seq: int, nonce: str) -> str:
    """Fold and commit one range; answers ok, or why there was nothing to do."""
    context = current()
    try:
        registered = context.registry.get(name)
    except UnknownSurvey:
        return "gone"
    shard = registered.by_number.get(shard_number)
    if registered.survey.tag8 != tag8 or shard is None:
        return "gone"  # deleted, and perhaps added again
    stretch = shard.range(seq)
    if stretch is None or stretch.nonce != nonce:
        return "gone"
    started = time.monotonic()
    try:
        entries = shard.entries(stretch)
    except CollectorError:
        if shard.range(seq) is None:
            return "gone"  # another delivery committed it, and it was trimmed
        raise
    commit = fold_entries(shard, stretch, entries, context.keep_payloads, context.agreement.forms.deltas)
    answer = shard.commit(stretch, commit)
    if answer == "parts":
        raise CollectorError(f"range {seq} of {name}: staged parts expired before the commit")
    if answer == "ok":
        context.observe_fold(time.monotonic() - started)
    return answer


def fold_entries(
    shard: Shard, stretch: Range, entries: Entries, keep_payloads: bool, layout: int = PLAIN_DELTA
) -> Commit:
    """What a range's entries add. Where the survey has rounds, they are read as their round asks.

    `layout`: of deltas, the newest that may be written.
    """
    survey, asked = shard.survey, None
    if survey.windows.in_rounds:
        rounds = shard.rounds()
        asked = AskedRound(stretch.window_number, opened=stretch.window_number <= rounds.number)
        survey = survey.in_round(rounds.history(stretch.window_number))
    mechanism: WorkerSide = survey.mechanism
    decoded = decode(mechanism, [fields for _, fields in entries], codec(mechanism), asked)
    delta = b""
    if decoded.count:
        vector, state = fresh(mechanism)
        mechanism.fold(state, decoded.reports)
        delta = encode_delta(vector, layout)
    letters = _dead_letters(decoded, entries, keep_payloads)
    return Commit(stretch.window(survey.windows).name, delta, decoded.count, decoded.rejected, letters)


def _dead_letters(decoded: Decoded, entries: Entries, keep_payloads: bool) -> list[DeadLetter]:
    letters = []
    for position, reason in decoded.rejected_entries[:DEAD_LETTERS_PER_COMMIT]:
        identity, fields = entries[position]
        payload = b"".join(fields.values())
        kept = payload[:DEAD_LETTER_BYTES] if keep_payloads else b""
        letters.append(DeadLetter(identity.decode(), reason, len(payload), hashlib.sha256(payload).hexdigest(), kept))
    return letters
