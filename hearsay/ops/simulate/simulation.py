"""The whole path in one process: perturb, encode, decode, fold. The same code as on the pipeline, without a server."""

from collections.abc import Callable
from typing import Any

from hearsay.collector.survey.survey import Survey
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import decode
from hearsay.collector.wire.rejections import Rejections
from hearsay.estimator.snapshots.content import Content, compose
from hearsay.mechanisms.domains.domain import Values
from hearsay.mechanisms.exact.randomness import Random
from hearsay.producer.fleet import frames


def simulate(
    survey: Survey, values: Values, random: Random, progress: Callable[[int], None] = lambda _: None
) -> Content:
    """The snapshot's content, window `all`, of a survey in which every one of `values` is one device.

    Where there are rounds, all devices take part in each; or, where the mechanism asks a device only once, the first
    of as many rounds as there may be gets the first of as many equal parts, and so on.
    """
    state = survey.mechanism.empty()
    rejected = Rejections()
    history: list[dict[str, Any]] = []
    rounds, once = survey.mechanism.rounds, survey.mechanism.one_round_each
    for number in range(1, rounds + 1):
        asked = survey.in_round(history)
        mechanism, wire = asked.mechanism, codec(asked.mechanism)
        part = slice(len(values) * (number - 1) // rounds, len(values) * number // rounds)
        for payload, _ in frames(mechanism, wire, values[part] if once else values, random):
            decoded = decode(mechanism, [{b"f": payload}], wire)
            rejected += decoded.rejected
            if decoded.count:
                mechanism.fold(state, decoded.reports)
            progress(decoded.count)
        public = mechanism.next_round(state) if number < rounds else None
        if public is None:
            break
        history.append(public)
    return compose(asked, "all", state, rejected=rejected)
