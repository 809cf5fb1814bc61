"""The shipped vectors: these words and this value give these bytes, in Python and in device.js.

`python -m tests.producer.portable.test_vectors` adds what is missing, and never changes a vector that exists.
"""

import json
import random
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import hearsay.collector.gateway
from hearsay.collector.describe.device_form import form
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.producer.portable.form import Form
from hearsay.producer.portable.words import WORD, Words
from tests.producer.portable.given_words import GivenWords

VECTORS = Path(str(files("hearsay.producer.portable").joinpath("vectors.json")))
DEVICE_JS = Path(hearsay.collector.gateway.__file__).parent / "device.js"
SURVEYS: list[tuple[dict[str, Any], list[Any]]] = [
    ({"mechanism": "grr", "domain": {"kind": "categorical", "categories": ["tea", "coffee", "mate"]}}, ["tea", "mate"]),
    ({"mechanism": "grr", "domain": {"kind": "grid", "sizes": [2, 300]}}, [[1, 299], [0, 7]]),
    ({"mechanism": "hrr", "domain": {"kind": "categorical", "size": 1000}}, [0, 999]),
    ({"mechanism": "hrr", "domain": {"kind": "binary"}}, [0, 1]),
    ({"mechanism": "olh", "epsilon": 2.5, "domain": {"kind": "ordinal", "size": 100_000}}, [77_777, 0]),
    ({"mechanism": "olh", "domain": {"kind": "ordinal", "size": 13}, "options": {"t": 3, "named": 3}}, [12, 5]),
    ({"mechanism": "oue", "domain": {"kind": "categorical", "size": 5}}, [0, 4]),
    ({"mechanism": "oue", "domain": {"kind": "categorical", "size": 40}}, [0, 39]),
    ({"mechanism": "sue", "domain": {"kind": "categorical", "size": 70}}, [0, 69]),
    ({"mechanism": "haar", "domain": {"kind": "ordinal", "first": -4, "last": 59}}, [-4, 59, 13]),
    (
        {"mechanism": "haar", "domain": {"kind": "ordinal", "low": 34.0, "high": 42.0, "bins": 80}},
        [35.3, 34, 42, 36.77],
    ),
    ({"mechanism": "haar", "domain": {"kind": "ordinal", "size": 1 << 22}}, [4_000_000, 1]),
    ({"mechanism": "hierarchical", "domain": {"kind": "ordinal", "size": 1024}, "options": {"fanout": 4}}, [1023, 8]),
    (
        {
            "mechanism": "hierarchical",
            "domain": {"kind": "ordinal", "size": 100},
            "options": {"fanout": 10, "oracle": "oue"},
        },
        [99, 50, 3],
    ),
    ({"mechanism": "flat", "domain": {"kind": "ordinal", "size": 20}}, [19]),
    ({"mechanism": "metric-l1", "domain": {"kind": "grid", "sizes": [5, 3]}}, [[4, 0], [0, 2]]),
    (
        {"mechanism": "binary", "domain": {"kind": "binary"}, "options": {"epsilon_12": 1.0, "epsilon_21": "inf"}},
        [0, 1],
    ),
    ({"mechanism": "um", "domain": {"kind": "count", "max": 6}}, [0, 6]),
]


class Recorded(Words):
    """Repeatable words that remember what was drawn; a fourth of them are at the ends of their range."""

    def __init__(self, seed: int) -> None:
        self._random, self.drawn = random.Random(seed), []

    def take(self, count: int) -> list[int]:
        words = [self._random.choice((0, WORD - 1)) if self._random.random() < 0.25 else None for _ in range(count)]
        taken = [self._random.randrange(WORD) if word is None else word for word in words]
        self.drawn += taken
        return taken


def made(number: int, table: dict[str, Any], values: list[Any]) -> dict[str, Any]:
    """A survey with its form and four reports of every value."""
    survey = {"name": f"vector-{number}", "epsilon": 1.1, **table}
    device = form(parse(survey))
    read, reports = Form.of(device), []
    for index, value in enumerate(values * 4):
        words = Recorded(1_000 * number + index)
        report = read.report(value, words)
        reports.append({"value": value, "words": [str(word) for word in words.drawn], "report": report.hex()})
    return {"survey": survey, "device": device, "reports": reports}


def shipped() -> list[dict[str, Any]]:
    vectors: list[dict[str, Any]] = json.loads(VECTORS.read_text(encoding="utf-8"))
    return vectors


@pytest.mark.parametrize("vector", shipped() if VECTORS.exists() else [], ids=lambda each: each["survey"]["name"])
def test_python_gives_these_bytes(vector: dict[str, Any]) -> None:
    survey = parse(vector["survey"])
    assert json.loads(json.dumps(form(survey))) == vector["device"]
    read = Form.of(vector["device"])
    for each in vector["reports"]:
        words = GivenWords([int(word) for word in each["words"]])
        assert read.report(each["value"], words).hex() == each["report"]
        assert words.left == 0
    rejected: list[tuple[int, str]] = []
    reports = [bytes.fromhex(each["report"]) for each in vector["reports"]]
    decoded = codec(survey.mechanism).decode_singles(reports, lambda *why: rejected.append(why))
    assert rejected == []
    assert sum(len(positions) for positions, _ in decoded) == len(reports)


def test_every_node_has_a_vector() -> None:
    vectors = shipped()
    assert len(vectors) == len(SURVEYS)
    text = VECTORS.read_text(encoding="utf-8")
    for node in ("coin", "bits", "hash", "haar", "table", "level", "signs"):
        assert f'"node": "{node}"' in text
    assert {each["report"][:2] for vector in vectors for each in vector["reports"]} >= {"cd", "ce", "c4"}


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_device_js_gives_these_bytes_and_knows_what_they_spend() -> None:
    program = f"""
        import {{ report, epsilon, draws }} from {json.dumps(DEVICE_JS.as_uri())};
        import {{ readFileSync }} from "node:fs";
        const vectors = JSON.parse(readFileSync({json.dumps(str(VECTORS))}, "utf8"));
        let count = 0;
        for (const vector of vectors)
          for (const each of vector.reports) {{
            const left = each.words.map(BigInt);
            const got = Buffer.from(report(vector.device, each.value, draws(() => left.shift()))).toString("hex");
            if (got !== each.report) throw new Error(`${{vector.survey.name}}: ${{got}} is not ${{each.report}}`);
            if (left.length) throw new Error(`${{vector.survey.name}}: words are left`);
            count++;
          }}
        console.log(count, JSON.stringify(vectors.map((vector) => String(epsilon(vector.device)))));
    """
    words = ["node", "--input-type=module", "-e", program]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    count, spent = done.stdout.split(maxsplit=1)
    assert int(count) == sum(len(vector["reports"]) for vector in shipped())
    epsilons = [Form.of(vector["device"]).epsilon for vector in shipped()]
    assert [float(text.replace("Infinity", "inf")) for text in json.loads(spent)] == pytest.approx(epsilons, rel=1e-9)


if __name__ == "__main__":
    vectors = shipped() if VECTORS.exists() else []
    vectors += [made(number, *SURVEYS[number]) for number in range(len(vectors), len(SURVEYS))]
    lines = ",\n".join(json.dumps(vector, ensure_ascii=False) for vector in vectors)
    VECTORS.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
