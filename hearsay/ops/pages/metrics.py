"""docs/reference/metrics.md: every metric, as a scrape of an empty deployment names it."""

from pathlib import Path
from tempfile import TemporaryDirectory

from prometheus_client.core import Metric

from hearsay.collector.store.connect import connect
from hearsay.collector.store.registry import Registry
from hearsay.estimator.serving.exporter import PipelineMetrics
from hearsay.ops.pages.reference import table
from hearsay.ops.server.embedded import EmbeddedServer

INTRODUCTION = """# Metrics

Written by `make docs` from what an estimator answers at `/metrics`. They are read from Redis at the moment of a scrape:
no process keeps counts of its own. Several estimators share the surveys, and each series but `hearsay_up` and
`hearsay_node_up` comes from one of them: scrape all estimators. No metric holds a value of a device.

A scrape asks every node first. Where the server does not answer within three seconds, it has only `hearsay_up` and
`hearsay_node_up`, both 0, so that Prometheus does not wait in vain. In a cluster only what that node holds is missing.

A counter's name has `_total` at its end in the answer, a summary's `_count` and `_sum`.
"""
ADVICE = """## What to watch

| watch | because |
|---|---|
| `hearsay_up == 0` | the Redis server does not answer |
| `hearsay_standing_still > 0` | reports wait and nothing processes them; `hearsay status --check` names the cause |
| `time() - hearsay_snapshot_timestamp_seconds` | answers grow old: no estimator, or nothing new |
| `rate(hearsay_reports_rejected_total[5m])` | devices of another version, or somebody else, send what no device makes |
| `rate(hearsay_gateway_reports_rejected_total[5m])` | the same, over gateways: the line above does not count it |
| `hearsay_ranges_quarantined > 0` | a range could not be folded five times; `hearsay survey skip` retries or skips it |
| `hearsay_pressure == 1` | writers are asked to wait: more workers, or more memory |

[alerts.yml](../../examples/prometheus-scrape/alerts.yml) has these as rules for Prometheus, with limits to start from;
beside it is [a program that reads the metrics](../../examples/prometheus-scrape/README.md).
"""


def metrics_page() -> str:
    """The whole page."""
    rows = [
        (f"`{family.name}`", family.type, ", ".join(f"`{label}`" for label in _labels(family)), family.documentation)
        for family in families()
    ]
    return "\n".join([INTRODUCTION, table(("metric", "type", "labels", "what it is"), rows), "", ADVICE])


def families() -> list[Metric]:
    """Every family of metrics of a deployment without surveys."""
    with TemporaryDirectory() as folder, EmbeddedServer(Path(folder)) as server:
        node = connect(server.url)
        try:
            return list(PipelineMetrics(Registry(node), {}).collect())
        finally:
            node.close()


def _labels(family: Metric) -> tuple[str, ...]:
    return tuple(getattr(family, "_labelnames", ()))
