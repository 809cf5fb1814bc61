"""docs/reference/http.md has every refusal, docs/reference/metrics.md every metric that a scrape shows."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import redis
from prometheus_client import CollectorRegistry, generate_latest

import hearsay
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import load
from hearsay.estimator.serving.exporter import PipelineMetrics
from hearsay.ops.demo.scene import SURVEYS
from hearsay.ops.pages.docs import DOCS

SERVICES = [Path(hearsay.__file__).parent / part for part in ("collector", "estimator")]


def refusals() -> Iterator[tuple[str | None, str]]:
    """Status, where it is written beside it, and code of every refusal in the services."""
    for path in (path for part in SERVICES for path in part.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("Problem", "Refusal")
            ):
                words = [each.value for each in node.args[:2] if isinstance(each, ast.Constant)]
                if node.func.id == "Problem" and len(words) == 2:
                    yield str(words[0]), str(words[1])
                elif node.func.id == "Refusal" and words:
                    yield None, str(words[0])


def test_every_refusal_is_on_the_page() -> None:
    page = (DOCS / "reference" / "http.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| (\d+) \| `([\w-]+)`", page, re.MULTILINE))
    found = set(refusals())
    assert ("409", "no-round") in found
    codes = {code for _, code in rows}
    assert {code for _, code in found} - codes == set()


def test_every_metric_is_on_the_page(client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    registry.add(load(SURVEYS / "session-minutes.toml"))
    metrics = CollectorRegistry(auto_describe=False)
    metrics.register(PipelineMetrics(registry, {"session-minutes": 1}))
    shown = set(re.findall(r"^# TYPE (\w+)", generate_latest(metrics).decode(), re.MULTILINE))
    page = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(\w+)`", page, re.MULTILINE))
    assert {name.removesuffix("_total") for name in shown} - listed == set()
