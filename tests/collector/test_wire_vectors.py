"""Frozen vectors: bytes that devices in the field send today must be understood in the same way for ever.

`vectors/<mechanism>.json` holds reports of that mechanism with their bytes; `bad.json` entries that must be refused,
with the reason; `tags.json` canonical surveys with their tags. `python -m tests.collector.test_wire_vectors` writes
what is not there yet (a new mechanism, a new example) and never touches the rest: a change there is a new wire version.
"""

import json
import re
import struct
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from hearsay.collector.survey.survey import parse
from hearsay.collector.wire import codec as wire_code
from hearsay.collector.wire import decode as decode_code
from hearsay.collector.wire import variant as variant_code
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import decode
from hearsay.mechanisms import Mechanism, Reports, build, catalogue
from hearsay.mechanisms.catalogue import parse_domain as domain_of
from hearsay.mechanisms.exact.randomness import seeded
from tests.collector.layouts import rows
from tests.collector.wire.test_codec import LARGE
from tests.mechanisms.shared import LISTED_CASES, skewed_cells

CODE = (wire_code, variant_code, decode_code)
VECTORS = Path(__file__).parent / "vectors"
SHIPPED = catalogue.shipped()

HASHED = {"mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 6}}  # 14 different reports
WIDER = {"mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 1_000}}  # 2046, in 11 bits
BITS = {"mechanism": "oue", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 61}}  # 61 bits, 3 to fill up
SUBSET = {"mechanism": "ss", "epsilon": 1.1, "domain": {"kind": "categorical", "size": 6}}  # names 1 of 6 values
LEVELS = {"mechanism": "haar", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 8}}  # 8, 4 and 2 reports


def table_of(mechanism: Mechanism) -> dict[str, Any]:
    """The mechanism with every choice written out: what an optimiser found is part of the vector."""
    return {
        "mechanism": mechanism.ID,
        "epsilon": mechanism.epsilon,
        "domain": mechanism.domain.table(),
        "options": mechanism.canonical_options(),
    }


def good_vectors(name: str) -> list[dict[str, Any]]:
    """Reports of a mechanism's examples, with the bytes that they have now."""
    tables = [case.table for case in LISTED_CASES if case.table["mechanism"] == name]
    result = []
    for table in [*tables, *(table for table in LARGE if table["mechanism"] == name)]:
        mechanism = build(table)
        reports = mechanism.perturb(skewed_cells(mechanism, 5), seeded(1))
        wire = codec(mechanism)
        result.append(
            {
                "survey": table_of(mechanism),
                "reports": {column: values.tolist() for column, values in reports.items()},
                "singles": [payload.hex() for payload in wire.encode_singles(reports)],
                "frame": wire.encode_frame(reports).hex(),
            }
        )
    return result


def pack(value: Any) -> bytes:
    packed: bytes = msgpack.packb(value)
    return packed


def bad_entries() -> list[tuple[str, dict[str, Any], dict[str, bytes]]]:
    """What is wrong, the survey, and the stream entry; what becomes of it is frozen in the file."""
    frame = bytes(3)  # four reports of HASHED
    subsets = (0b000001 | 0b000010 << 6 | 0b000011 << 12 | 0b100000 << 18).to_bytes(3, "little")
    numbers = (5 | 2_046 << 11 | 7 << 22 | 2_047 << 33).to_bytes(6, "little")
    cases: list[tuple[str, dict[str, Any], dict[str, bytes]]] = [
        ("empty payload", HASHED, {"r": b""}),
        ("integer cut off", HASHED, {"r": b"\xcd\x01"}),
        ("one byte too many", HASHED, {"r": b"\x01\x01"}),
        ("reserved type byte", HASHED, {"r": b"\xc1"}),
        ("first number outside", HASHED, {"r": pack(14)}),
        ("largest number", HASHED, {"r": pack((1 << 64) - 1)}),
        ("negative", HASHED, {"r": pack(-1)}),
        ("very negative", HASHED, {"r": pack(-(1 << 63))}),
        ("signed form of 5", HASHED, {"r": b"\xd0\x05"}),
        ("nil", HASHED, {"r": pack(None)}),
        ("true", HASHED, {"r": pack(True)}),
        ("float", HASHED, {"r": pack(3.0)}),
        ("short float", HASHED, {"r": b"\xca" + struct.pack(">f", 3.0)}),
        ("not a number", HASHED, {"r": pack(float("nan"))}),
        ("infinity", HASHED, {"r": pack(float("inf"))}),
        ("text", HASHED, {"r": pack("3")}),
        ("empty text", HASHED, {"r": pack("")}),
        ("bin in place of an integer", HASHED, {"r": pack(b"\x03")}),
        ("list", HASHED, {"r": pack([3])}),
        ("map", HASHED, {"r": pack({"r": 3})}),
        ("empty map", HASHED, {"r": pack({})}),
        ("extension", HASHED, {"r": pack(msgpack.ExtType(5, b"12345678"))}),
        ("timestamp", HASHED, {"r": b"\xd6\xff\x00\x00\x00\x01"}),
        ("nested too deeply", HASHED, {"r": b"\x91" * 5_000 + b"\x01"}),
        ("claims four gigabytes", HASHED, {"r": b"\xc6\xff\xff\xff\xff"}),
        ("claims four thousand million elements", HASHED, {"r": b"\xdd\xff\xff\xff\xff"}),
        ("unknown field", HASHED, {"x": pack(3)}),
        ("two fields", HASHED, {"r": pack(3), "f": pack([1, [0, 4, frame]])}),
        ("field of rounds", HASHED, {"r": pack(3), "k": b"1"}),
        ("bin one byte short", BITS, {"r": pack(bytes(7))}),
        ("bin one byte long", BITS, {"r": pack(bytes(9))}),
        ("bin with a bit beyond the last cell", BITS, {"r": pack(bytes(7) + b"\x20")}),
        ("bin cut off", BITS, {"r": pack(bytes(8))[:-1]}),
        ("integer in place of a bin", BITS, {"r": pack(3)}),
        ("one value too many", SUBSET, {"r": pack(0b11)}),
        ("no value", SUBSET, {"r": pack(0)}),
        ("number beyond the last level", LEVELS, {"r": pack(14)}),
        ("frame is a number", HASHED, {"f": pack(1)}),
        ("frame without version", HASHED, {"f": pack([])}),
        ("frame without sections", HASHED, {"f": pack([1])}),
        ("frame of an older version", HASHED, {"f": pack([0, [0, 4, frame]])}),
        ("frame of a newer version", HASHED, {"f": pack([2, [0, 4, frame]])}),
        ("version is true", HASHED, {"f": pack([True, [0, 4, frame]])}),
        ("version is 1.0", HASHED, {"f": pack([1.0, [0, 4, frame]])}),
        ("section is a number", HASHED, {"f": pack([1, 4])}),
        ("section of two", HASHED, {"f": pack([1, [0, 4]])}),
        ("section of four", HASHED, {"f": pack([1, [0, 4, frame, 0]])}),
        ("more sections than variants", HASHED, {"f": pack([1, [0, 4, frame], [0, 4, frame]])}),
        ("unknown variant", HASHED, {"f": pack([1, [1, 4, frame]])}),
        ("negative variant", HASHED, {"f": pack([1, [-1, 4, frame]])}),
        ("variant is a float", HASHED, {"f": pack([1, [0.0, 4, frame]])}),
        ("count is zero", HASHED, {"f": pack([1, [0, 0, b""]])}),
        ("count is negative", HASHED, {"f": pack([1, [0, -4, frame]])}),
        ("count is true", HASHED, {"f": pack([1, [0, True, b"\x00"]])}),
        ("count is huge", HASHED, {"f": pack([1, [0, (1 << 63) - 1, frame]])}),
        ("count beyond a frame's limit", HASHED, {"f": pack([1, [0, 65_537, frame]])}),
        ("packed is text", HASHED, {"f": pack([1, [0, 4, "ab"]])}),
        ("packed is a list", HASHED, {"f": pack([1, [0, 4, [1, 2, 3, 4]]])}),
        ("packed one byte short", HASHED, {"f": pack([1, [0, 4, frame[:-1]]])}),
        ("packed one byte long", HASHED, {"f": pack([1, [0, 4, frame + b"\x00"]])}),
        ("frame cut off", HASHED, {"f": pack([1, [0, 4, frame]])[:-1]}),
        ("frame with a byte too many", HASHED, {"f": pack([1, [0, 4, frame]]) + b"\x00"}),
        ("two of four elements outside", WIDER, {"f": pack([1, [0, 4, numbers]])}),
        ("all elements outside", WIDER, {"f": pack([1, [0, 8, b"\xff" * 11]])}),
        ("a whole group outside", HASHED, {"f": pack([1, [0, 4, b"\xff" * 3]])}),
        ("one of two rows outside", BITS, {"f": pack([1, [0, 2, bytes(15) + b"\xe0"]])}),
        ("one of four subsets impossible", SUBSET, {"f": pack([1, [0, 4, subsets]])}),
        ("second of two levels cut short", LEVELS, {"f": pack([1, [2, 1, b"\x01"], [0, 5, b"\x07"]])}),
    ]
    return cases


def outcome(table: dict[str, Any], entry: dict[str, bytes]) -> dict[str, Any]:
    mechanism = build(table)
    fields = {name.encode(): payload for name, payload in entry.items()}
    decoded = decode(mechanism, [fields], codec(mechanism))
    return {
        "rejected": {reason: list(refused) for reason, refused in decoded.rejected.items()},
        "folded": decoded.count,
    }


def bad_vectors() -> list[dict[str, Any]]:
    """Entries that are refused, wholly or in part."""
    return [
        {"why": why, "survey": table, "entry": {k: v.hex() for k, v in entry.items()}, **outcome(table, entry)}
        for why, table, entry in bad_entries()
    ]


def tag_vectors() -> list[dict[str, Any]]:
    """Surveys as people write them, their canonical form and their tag."""
    likes = {"kind": "categorical", "categories": ["tea", "coffee", "maté"]}
    spans = {"kind": "grid", "axes": [{"name": "x", "low": -1, "high": 1, "bins": 4}, {"size": 3}]}
    surveys: list[dict[str, Any]] = [
        {"name": "likes", "mechanism": "grr", "epsilon": 1, "domain": likes},
        {"name": "likes", "mechanism": "grr", "epsilon": 1, "domain": likes, "window": {"every": "1h", "retain": "9d"}},
        {"name": "spans", "mechanism": "oue", "epsilon": 0.1, "domain": spans, "answers": {"minimum_reports": 100}},
    ]
    parsed = [(survey, parse(survey)) for survey in surveys]
    return [{"survey": survey, "canonical": found.canonical(), "tag": found.tag} for survey, found in parsed]


def freeze() -> list[str]:
    """Write the files that do not exist yet, and add the examples that a mechanism's file does not have yet."""
    VECTORS.mkdir(exist_ok=True)
    written = []
    for name in ("bad", "tags", *SHIPPED):
        file = VECTORS / f"{name}.json"
        if name in SHIPPED:
            missing = not_in(frozen_places(name), good_vectors(name))
        else:
            missing = [] if file.exists() else bad_vectors() if name == "bad" else tag_vectors()
        if missing:
            kept = file.read_text(encoding="utf-8").splitlines()[1:-1] if file.exists() else []
            added = [json.dumps(vector, ensure_ascii=False) for vector in missing]
            lines = ",\n".join([line.removesuffix(",") for line in kept] + added)
            file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
            written.append(file.name)
    return written


def place(survey: dict[str, Any]) -> tuple[float, str]:
    """Which example it is; not by its options, which may be what an optimiser found at the time."""
    return survey["epsilon"], json.dumps(domain_of(survey["domain"]).table(), sort_keys=True)


def frozen_places(name: str) -> Counter[tuple[float, str]]:
    return Counter(place(vector["survey"]) for vector in load(name))


def not_in(frozen: Counter[tuple[float, str]], vectors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The vectors without a frozen one of the same place, each frozen one counting once."""
    missing = []
    for vector in vectors:
        if frozen[place(vector["survey"])]:
            frozen[place(vector["survey"])] -= 1
        else:
            missing.append(vector)
    return missing


def load(name: str) -> list[dict[str, Any]]:
    file = VECTORS / f"{name}.json"
    found: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    return found


GOOD = [
    pytest.param(vector, id=f"{file.stem}-{number}")
    for file in sorted(VECTORS.glob("*.json"))
    if file.stem not in ("bad", "tags")
    for number, vector in enumerate(load(file.stem))
]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_example_is_frozen(name: str) -> None:
    examples = Counter(place(case.table) for case in LISTED_CASES if case.table["mechanism"] == name)
    assert examples <= frozen_places(name), "run: python -m tests.collector.test_wire_vectors"


@pytest.mark.parametrize("vector", GOOD)
def test_reports_have_the_bytes_that_they_had(vector: dict[str, Any]) -> None:
    mechanism = build(vector["survey"])
    reports: Reports = {column: np.array(values) for column, values in vector["reports"].items()}
    wire = codec(mechanism)
    assert [payload.hex() for payload in wire.encode_singles(reports)] == vector["singles"]
    assert wire.encode_frame(reports).hex() == vector["frame"]


@pytest.mark.parametrize("vector", GOOD)
def test_bytes_mean_the_reports_that_they_meant(vector: dict[str, Any]) -> None:
    mechanism = build(vector["survey"])
    reports: Reports = {column: np.array(values) for column, values in vector["reports"].items()}
    wire, expected = codec(mechanism), rows(mechanism.layout, reports)
    for position, payload in enumerate(vector["singles"]):
        decoded = decode(mechanism, [{b"r": bytes.fromhex(payload)}], wire)
        assert rows(mechanism.layout, decoded.reports) == [expected[position]]
    decoded = decode(mechanism, [{b"f": bytes.fromhex(vector["frame"])}], wire)
    assert sorted(rows(mechanism.layout, decoded.reports)) == sorted(expected)
    state = mechanism.fold(mechanism.empty(), decoded.reports)
    assert mechanism.reports(state) == len(expected)


BAD, TAGS = load("bad"), load("tags")


@pytest.mark.parametrize("vector", BAD, ids=lambda vector: vector["why"].replace(" ", "-"))
def test_bad_entries_are_refused_for_the_reason_that_they_were(vector: dict[str, Any]) -> None:
    entry = {name: bytes.fromhex(payload) for name, payload in vector["entry"].items()}
    assert outcome(vector["survey"], entry) == {"rejected": vector["rejected"], "folded": vector["folded"]}
    assert vector["rejected"]


def test_the_bad_vectors_are_all_that_are_described_here() -> None:
    assert [(vector["why"], vector["survey"]) for vector in BAD] == [(why, table) for why, table, _ in bad_entries()]


@pytest.mark.parametrize("vector", TAGS, ids=["plain", "windows", "grid"])
def test_surveys_have_the_tags_that_they_had(vector: dict[str, Any]) -> None:
    survey = parse(vector["survey"])
    assert survey.canonical() == vector["canonical"]
    assert survey.tag == vector["tag"]


WIRE_PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "wire.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(
    r"^### (.*?)\n.*?^```toml\n(.*?)^```.*?^```json\n(.*?)^```.*?^```text\n(.*?)^```",
    WIRE_PAGE,
    re.MULTILINE | re.DOTALL,
)


@pytest.mark.parametrize(("title", "survey", "reports", "dump"), EXAMPLES, ids=[title for title, *_ in EXAMPLES])
def test_the_page_shows_the_bytes_as_they_are(title: str, survey: str, reports: str, dump: str) -> None:
    columns: Reports = {name: np.array(values) for name, values in json.loads(reports).items()}
    wire = codec(parse(tomllib.loads(survey)).mechanism)
    shown = bytes.fromhex("".join(re.split(r"\s{2,}", line)[0] for line in dump.splitlines()))
    assert shown == (wire.encode_frame(columns) if "frame" in title else wire.encode_singles(columns)[0])


def test_the_page_has_its_examples_and_every_reason() -> None:
    assert len(EXAMPLES) == 4
    listed = set(re.findall(r"^\| `([a-z-]+)` \| .* \| .*(?:entry|entries|report).* \|$", WIRE_PAGE, re.MULTILINE))
    source = "".join(Path(module.__file__ or "").read_text(encoding="utf-8") for module in CODE)
    raised = set(re.findall(r'(?:Rejected\(|rejected\.add\(|return )"([a-z-]+)"', source))
    raised |= set(re.findall(r'"([a-z-]+)" if good', source))
    assert listed == raised | {"skipped"}


if __name__ == "__main__":
    print(*freeze() or ["nothing to freeze"], sep="\n")
