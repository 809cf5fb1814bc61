"""Row 11: what is said about the size of reports holds for every report that is made."""

import numpy as np
import pytest

from hearsay.collector.describe.describe import FRAME_REPORTS, describe
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.sizes import frame_bytes, single_bytes
from hearsay.mechanisms import build, catalogue
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.layout import select

TABLES = {
    **{
        f"{name}-{number}": {"mechanism": name, **table}
        for name in catalogue.shipped()
        for number, table in enumerate(catalogue.examples(name), start=1)
    },
    **{
        f"{name}-{size}": {"mechanism": name, "epsilon": 1.0, "domain": {"kind": "ordinal", "size": size}}
        for name in ("grr", "oue", "hrr", "olh", "haar", "hierarchical", "metric-l1")
        for size in (2, 300, 2_500)
    },
}


@pytest.mark.parametrize("name", TABLES)
def test_no_report_is_longer_than_said(name: str) -> None:
    mechanism = build(TABLES[name])
    wire, generator = codec(mechanism), np.random.default_rng(1)
    values = mechanism.domain.people(lambda size: generator.integers(0, size, 1_000))
    reports = mechanism.perturb(values, seeded(2))
    longest, said = max(map(len, wire.encode_singles(reports))), single_bytes(wire)
    assert longest <= said
    assert longest >= said - 1 or len(wire.variants) > 1  # and nearly all of it is used
    for count in (1, 2, 17, 1_000):
        made = len(wire.encode_frame(select(reports, slice(0, count))))
        assert made <= frame_bytes(wire, count)
        assert made == frame_bytes(wire, count) or len(wire.variants) > 1


def test_survey_show_says_the_bytes_that_reports_really_take() -> None:
    """A report out of 300 was said to take at most 2 bytes; with msgpack's header most take 3."""
    domain = {"kind": "categorical", "size": 300}
    survey = parse({"name": "bytes", "mechanism": "grr", "epsilon": 1.0, "domain": domain})
    said, wire = describe(survey), codec(survey.mechanism)
    reports = survey.mechanism.perturb(np.arange(300).repeat(10), seeded(3))
    lengths = np.array([len(single) for single in wire.encode_singles(reports)])
    assert said["report_bytes"] == lengths.max() == 3
    frame = wire.encode_frame(select(reports, slice(0, FRAME_REPORTS)))
    assert len(frame) / FRAME_REPORTS <= said["report_bytes_in_frames"] < 1.2
