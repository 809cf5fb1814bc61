"""The whole path in one process: perturb, encode, decode, fold. The same code as on the pipeline, without a server."""

from collections.abc import Callable

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
    """The snapshot's content, window `all`, of a survey in which every one of `values` is one device."""
    mechanism, wire = survey.mechanism, codec(survey.mechanism)
    state = mechanism.empty()
    rejected = Rejections()
    for payload, _ in frames(mechanism, wire, values, random):
        decoded = decode(mechanism, [{b"f": payload}], wire)
        rejected += decoded.rejected
        if decoded.count:
            mechanism.fold(state, decoded.reports)
        progress(decoded.count)
    return compose(survey, "all", state, rejected=rejected)
