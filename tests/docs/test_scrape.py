"""The example that reads metrics, and the rules beside it."""

import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "prometheus-scrape"
TWO_SHARDS = """hearsay_up 1.0
# TYPE hearsay_reports_folded_total counter
hearsay_reports_folded_total{shard="0",survey="ages"} 1000.0
hearsay_reports_folded_total{shard="1",survey="ages"} 500.0
hearsay_reports_waiting{shard="0",survey="ages"} 7.0
"""
STALLED = TWO_SHARDS + 'hearsay_standing_still{kind="ranges"} 1.0\n'


@contextmanager
def answering(code: int, text: str) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(code)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()


def scrape(address: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, EXAMPLE / "scrape.py", address], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("code", "text", "exit_code", "words"),
    [
        (200, TWO_SHARDS, 0, "ages: 1,500 reports folded\n7 reports wait, 0 causes of a stall\n"),
        (200, STALLED, 1, "ages: 1,500 reports folded\n7 reports wait, 1 causes of a stall\n"),
        (200, "hearsay_up 0.0\n", 1, "the Redis server does not answer\n"),
        (401, "", 1, "set HEARSAY_API_TOKEN"),
        (404, "", 1, "is this the estimator's address?"),
    ],
)
def test_what_is_seen_is_told(code: int, text: str, exit_code: int, words: str) -> None:
    with answering(code, text) as address:
        seen, told = scrape(address)
    assert seen == exit_code
    assert words in told
    assert "Traceback" not in told


def test_an_estimator_that_is_away() -> None:
    with answering(200, "") as address:
        pass
    code, told = scrape(address)
    assert code == 1
    assert told.startswith(f"{address} does not answer: start `hearsay estimate`")
    assert told.count("\n") == 1


def test_the_rules_name_metrics_that_there_are() -> None:
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^\| `(hearsay_\w+)`", page, re.MULTILINE))
    named = set(re.findall(r"hearsay_\w+", (EXAMPLE / "alerts.yml").read_text(encoding="utf-8")))
    assert len(named) >= 6
    assert {name.removesuffix("_total") for name in named} <= known


OF_TWO_DEPLOYMENTS = """
rule_files: [RULES]
evaluation_interval: 15s
tests:
  - interval: 15s
    input_series:
      - {series: 'up{job="hearsay",instance="busy"}', values: "1x40"}
      - {series: 'hearsay_reports_folded_total{job="hearsay",instance="busy",survey="ages"}', values: "0+100x40"}
      - {series: 'hearsay_snapshot_timestamp_seconds{job="hearsay",instance="busy",survey="ages"}', values: "BUSY"}
      - {series: 'hearsay_reports_folded_total{job="hearsay",instance="idle",survey="ages"}', values: "5x40"}
      - {series: 'hearsay_snapshot_timestamp_seconds{job="hearsay",instance="idle",survey="ages"}', values: "0x40"}
    alert_rule_test:
      - {eval_time: 10m, alertname: HearsayOldAnswers, exp_alerts: [EXPECTED]}
      - {eval_time: 10m, alertname: HearsayEstimatorAway, exp_alerts: []}
"""
OLD = """{exp_labels: {job: hearsay, instance: busy, survey: ages},
       exp_annotations: {summary: "ages: reports are folded, and answers are over a minute old"}}"""


@pytest.mark.parametrize(("busy", "expected"), [("0+15x40", ""), ("0x40", OLD)], ids=["up to date", "old"])
def test_old_answers_are_those_of_one_deployment(tmp_path: Path, busy: str, expected: str) -> None:
    """Two deployments have a survey of the same name: one is busy, and nothing new comes to the other."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed; it comes with Debian's package prometheus")
    text = OF_TWO_DEPLOYMENTS.replace("RULES", str(EXAMPLE / "alerts.yml"))
    (tmp_path / "test.yml").write_text(text.replace("BUSY", busy).replace("EXPECTED", expected), encoding="utf-8")
    checked = subprocess.run(
        [promtool, "test", "rules", str(tmp_path / "test.yml")], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
