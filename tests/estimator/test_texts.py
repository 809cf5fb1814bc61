"""Texts in snapshots, over HTTP and in metrics, which count them and show none."""

from pathlib import Path

from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.estimator.materialise import Materialiser
from hearsay.mechanisms.exact.randomness import seeded
from tests.estimator.running import estimator
from tests.estimator.snapshots.test_files import VALIDATOR
from tests.pipeline import fold_all

TABLE = {
    "name": "words",
    "mechanism": "prefixes",
    "epsilon": 4.0,
    "domain": {"kind": "text", "length": 6},
    "options": {"texts": 8, "table": 4096},
}


def test_metrics_count_told_texts_and_show_none(registry: Registry, tmp_path: Path) -> None:
    survey = parse(TABLE)
    registered = registry.add(survey)
    texts = ["grog"] * 6_000 + ["toddy"] * 4_000
    reports = survey.mechanism.perturb(survey.mechanism.domain.read({"value": texts}), seeded(1))
    store = registered.shards[0]
    store.publish("writer", 1, [(b"f", codec(survey.mechanism).encode_frame(reports))], len(texts))
    fold_all(store)
    with estimator(registry, tmp_path) as http:
        Materialiser(registry, tmp_path).run_once()
        shown = http.get("/metrics").text
        document = http.get("/api/surveys/words/snapshots/all").json()
        answers = http.get("/api/surveys/words/query?q=top+5").json()["answers"]
    assert 'hearsay_estimate{item="",query="told",survey="words"} 2.0' in shown
    assert 'query="outside"' in shown
    assert "grog" not in shown
    assert [each["item"] for each in answers] == ["grog", "toddy"]
    VALIDATOR.validate(document)
