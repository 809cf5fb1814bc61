"""Names and ids of fold jobs are written in one place."""

import ast
import re
from pathlib import Path

HEARSAY = Path(__file__).parents[3] / "hearsay"


def test_only_the_queue_module_knows_rq_queues_and_names() -> None:
    known = re.compile(r"from rq import .*\bQueue\b|queue_name\(|enqueue_call|JSONSerializer\)")
    for path in HEARSAY.rglob("*.py"):
        if path not in (HEARSAY / "collector" / "queue.py", HEARSAY / "collector" / "store" / "keys.py"):
            assert known.findall(path.read_text(encoding="utf-8")) == [], path


def test_workers_do_not_import_the_dispatcher() -> None:
    for path in (HEARSAY / "workers").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert not (node.module or "").startswith("hearsay.collector.dispatch"), path
