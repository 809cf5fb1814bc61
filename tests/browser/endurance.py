"""`python -m tests.browser.endurance`: the page open for MINUTES=10 beside RATE=200000 reports a second.

In the middle the estimator is restarted. Printed: how long updates went on, how the heap grew, which nodes of charts
were removed, what an update costs the browser, and whether an eleventh tab loads beside ten others.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx

from hearsay.collector.survey.survey import load
from hearsay.ops.demo.scene import SURVEYS
from hearsay.ops.server.processes import Pipeline
from tests.browser.chromium import Browser, Tab, browser

SURVEY = "session-minutes"
STRETCHES = 256
TABS = 10
_WATCH = """
window.removed = [];
window.updates = 0;
const watch = (node, heard, what) => new MutationObserver(heard).observe(node, what);
const gone = (each) => {
  if (each.target.closest('.labels, .grid') !== null) return;
  each.removedNodes.forEach((node) => node.nodeType === 1 && window.removed.push(node.nodeName));
};
document.querySelectorAll('figure[data-chart]').forEach((chart) =>
  watch(chart, (all) => all.forEach(gone), {childList: true, subtree: true}));
watch(document.querySelector('main'), () => window.updates++, {attributeFilter: ['data-reports']});
"""


@dataclass
class Findings:
    """What was seen."""

    minutes: float
    reports: int = 0
    reports_a_second: float = 0.0
    updates: int = 0
    longest_pause_s: float = 0.0  # between two updates, the restart left out
    back_after_s: float = 0.0  # from the estimator's first answer after its restart to the next update
    heap_grew_mb: float = 0.0
    removed: list[str] = field(default_factory=list)  # nodes of charts, axis labels left out
    update_ms: float = 0.0  # median of the processor time that an update takes the tab: script, style, layout
    eleventh_tab_s: float = 0.0
    errors: list[str] = field(default_factory=list)


def watch(directory: Path, minutes: float, rate: float) -> Findings:
    """Run the whole pipeline and a browser for so long."""
    findings = Findings(minutes)
    with Pipeline(directory, estimator=True, workers=1) as pipeline, browser() as running:
        pipeline.registry().add(load(SURVEYS / f"{SURVEY}.toml"))
        producer = _produce(pipeline, rate, 60 * minutes + 120)
        try:
            _look(pipeline, running, findings)
        finally:
            producer.terminate()
            producer.wait(30)
    return findings


def _produce(pipeline: Pipeline, rate: float, seconds: float) -> "subprocess.Popen[bytes]":
    words = ["produce", SURVEY, f"--devices={int(rate * seconds)}", f"--rate={rate}", "--distribution=normal"]
    environment = {**os.environ, "HEARSAY_DATA_DIR": str(pipeline.directory)}
    environment["HEARSAY_REDIS_URL"] = pipeline.server.url
    with (pipeline.directory / "produce.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "hearsay", *words], env=environment, stdout=log, stderr=log
        )


def _look(pipeline: Pipeline, running: Browser, findings: Findings) -> None:
    address = f"{pipeline.address}/surveys/{SURVEY}?n={STRETCHES}&q=range+300+500"
    tab = running.tab()
    tab.look()
    _wait_for_reports(pipeline)
    tab.open(address)
    tab.wait(f"document.querySelectorAll('[data-chart=histogram] .bars rect').length === {STRETCHES}")
    tab.run(_WATCH + "0")
    tab.call("Performance.enable", timeDomain="threadTicks")
    heap, began, first = _heap(tab), time.monotonic(), _reports(tab)
    half = 30 * findings.minutes
    costs = _follow(tab, half, findings)
    findings.back_after_s = _restart(pipeline, tab)
    costs += _follow(tab, half, findings)
    findings.reports = _reports(tab)
    findings.reports_a_second = (findings.reports - first) / (time.monotonic() - began)
    findings.updates = tab.run("window.updates")
    findings.removed = tab.run("window.removed")
    findings.heap_grew_mb = (_heap(tab) - heap) / 1e6
    findings.update_ms = 1_000 * statistics.median(costs)
    findings.errors = [error for error in tab.errors if "ERR_" not in error]  # the restart cuts connections
    findings.eleventh_tab_s = _eleventh(running, address)
    tab.close()


def _wait_for_reports(pipeline: Pipeline) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = httpx.get(f"{pipeline.address}/api/overview", timeout=30).json()["surveys"]
        if found and found[0]["reports"] > 0:
            return
        time.sleep(0.5)


def _follow(tab: Tab, seconds: float, findings: Findings) -> list[float]:
    """The processor seconds of each update; several between two looks count as one each of their mean."""
    costs, deadline, last = list[float](), time.monotonic() + seconds, time.monotonic()
    updates, spent = _state(tab)
    while time.monotonic() < deadline:
        time.sleep(0.5)
        now, total = _state(tab)
        if now > updates:
            costs += [(total - spent) / (now - updates)] * (now - updates)
            findings.longest_pause_s = max(findings.longest_pause_s, time.monotonic() - last)
            updates, spent, last = now, total, time.monotonic()
    return costs


def _state(tab: Tab) -> tuple[int, float]:
    metrics = {each["name"]: each["value"] for each in tab.call("Performance.getMetrics")["metrics"]}
    spent = sum(metrics[name] for name in ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration"))
    return int(tab.run("window.updates")), spent


def _restart(pipeline: Pipeline, tab: Tab) -> float:
    """Seconds from the first answer of the new process to the next update of the page."""
    before = tab.run("window.updates")
    pipeline.restart("estimate")
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{pipeline.address}/readyz", timeout=5).status_code == 200:
                break
        except httpx.HTTPError:
            time.sleep(0.05)
    began = time.monotonic()
    tab.wait(f"window.updates > {before} && document.querySelector('main').dataset.state === 'live'", 60)
    return time.monotonic() - began


def _eleventh(running: Browser, address: str) -> float:
    tabs = [running.tab() for _ in range(TABS)]
    try:
        for each in tabs[1:]:
            each.open(address)
        began = time.monotonic()
        last = running.tab()
        last.open(address)
        taken = time.monotonic() - began
        last.close()
        return taken
    finally:
        for each in tabs:
            each.close()


def _heap(tab: Tab) -> float:
    for _ in range(2):
        tab.call("HeapProfiler.collectGarbage")
    return float(tab.call("Runtime.getHeapUsage")["usedSize"])


def _reports(tab: Tab) -> int:
    return int(tab.run("Number(document.querySelector('main').dataset.reports)"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        seen = watch(Path(folder), float(os.environ.get("MINUTES", "10")), float(os.environ.get("RATE", "200000")))
    print(json.dumps(asdict(seen), indent=1))
