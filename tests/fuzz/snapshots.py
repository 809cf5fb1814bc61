"""Snapshot directories: read whole, or refused; checksums are often made to fit, so that damage gets past them."""

import io
import json
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from hearsay.collector.survey.survey import parse
from hearsay.estimator.errors import SnapshotError
from hearsay.estimator.snapshots import files, loading
from hearsay.estimator.snapshots.content import compose
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.exact.randomness import seeded
from tests.fuzz.octets import damaged, put
from tests.fuzz.surveys import SLOW
from tests.fuzz.tally import Tally, one_line
from tests.fuzz.trees import damaged_tree
from tests.mechanisms.shared import ALL_CASES, skewed_cells

_DTYPES = ("<i8", ">i8", "<i4", "<f8", "|b1", "<u8", "<M8[s]", "<U3", "<c16")

HEADLINES: dict[str, list[str]] = {}  # what is asked of the snapshots that are accepted, by survey


@dataclass(frozen=True)
class Good:
    """A snapshot's two files, and the state apart."""

    document: dict[str, Any]
    arrays: bytes
    state: dict[str, Any]


@cache
def seeds(folder: Path) -> list[Good]:
    """A snapshot of every mechanism whose survey is read quickly."""
    found = []
    for number, case in enumerate(ALL_CASES):
        if case.table["mechanism"] in SLOW:
            continue
        survey = parse({"name": f"s{number}", **case.table})
        state, history, window = survey.mechanism.empty(), [], "all"
        while True:
            survey = survey.in_round(history)
            survey.mechanism.fold(state, survey.mechanism.perturb(skewed_cells(survey.mechanism, 200), seeded(3)))
            public = survey.mechanism.next_round(state)
            if public is None:
                break
            history.append(public)
        if survey.mechanism.rounds > 1:
            window = f"r{len(history) + 1}"
        content = compose(survey, window, state)
        HEADLINES[survey.name] = list(dict.fromkeys(answer.query for answer in content.answers))[:2]
        where = files.write(folder / f"good-{number}", content)
        document = json.loads((where / files.JSON).read_text(encoding="utf-8"))
        found.append(Good(document, (where / files.ARRAYS).read_bytes(), dict(content.state)))
    return found


def run(tally: Tally, seed: int, cases: int, folder: Path) -> None:
    random = Random(seed)
    every = seeds(folder)
    target = folder / "fuzzed"
    target.mkdir(exist_ok=True)
    documents = [good.document for good in every]
    several = [good for good in every if good.document.get("rounds")]
    for _ in range(cases):
        good = random.choice(several if random.random() < 0.1 else every)
        document: Any = good.document
        arrays, text = good.arrays, None
        match random.randrange(6):
            case 0 if good in several:
                document = {**document, "rounds": damaged_tree(random, document["rounds"], documents)}
            case 0 | 1:
                document = damaged_tree(random, document, documents)
            case 2:
                text = damaged(random, json.dumps(document).encode())
            case 3:
                arrays = damaged(random, arrays, [random.choice(every).arrays])
            case 4:
                arrays = _repacked(random, good.state)
            case _:
                document, arrays = _other_state(random, good)
        put(target / files.ARRAYS, arrays)
        if text is None:
            text = _written(random, document, target / files.ARRAYS)
        put(target / files.JSON, text)
        tally.run((text[:200], arrays[:40]), lambda: _load(target))


def _written(random: Random, document: Any, arrays: Path) -> bytes:
    """The document as text, mostly with the checksum that fits."""
    try:
        if isinstance(document, dict) and random.random() < 0.9:
            document = {**document, files.CHECKSUM: files.checksum(document, arrays)}
    except (ValueError, TypeError, RecursionError):  # holds what JSON does not: infinities, too deep a list
        pass
    try:
        return json.dumps(document, ensure_ascii=random.random() < 0.5).encode(errors="surrogatepass")
    except RecursionError:
        return b"[" * 5_000 + b"]" * 5_000


def _repacked(random: Random, state: dict[str, Any]) -> bytes:
    """An archive that is sound, of arrays that are not."""
    arrays = {f"state/{name}": array for name, array in state.items()}
    name = random.choice(list(arrays))
    array = arrays[name]
    match random.randrange(6):
        case 0:
            del arrays[name]
        case 1:
            arrays[name] = array.astype(np.int64).view(np.uint8).repeat(random.choice((0, 1, 2)))
        case 2:
            arrays[name] = np.zeros(array.shape, dtype=random.choice(_DTYPES))
        case 3:
            arrays[name] = array.reshape(-1)[: random.choice((0, 1, -1))]
        case 4:
            arrays[name] = array.T
        case _:
            arrays["extra"] = np.zeros(random.choice((0, 1, 1_000)))
    buffer = io.BytesIO()
    kind = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(buffer, "w", kind) as archive:
        for member, content in arrays.items():
            with archive.open(f"{member}.npy", "w") as file:
                np.lib.format.write_array(
                    file, content, allow_pickle=False, version=random.choice(((1, 0), (2, 0), None))
                )
    return buffer.getvalue()


def _other_state(random: Random, good: Good) -> tuple[dict[str, Any], bytes]:
    """A state that no reports make, in files that agree with each other."""
    survey = parse(good.document["definition"]).in_round(good.document.get("rounds", []))
    state = {name: array.copy() for name, array in good.state.items()}
    array = state[random.choice(list(state))].reshape(-1)
    array[random.randrange(array.size)] = random.choice((-1, 0, 1 << 31, -(1 << 62), (1 << 62) - 1, (1 << 63) - 1))
    with np.errstate(all="ignore"):
        reports = survey.mechanism.reports(state)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in state.items():
            with archive.open(f"state/{name}.npy", "w") as file:
                np.lib.format.write_array(file, content, allow_pickle=False)
    return {**good.document, "reports": reports}, buffer.getvalue()


def _load(target: Path) -> str:
    try:
        found = loading.load(target)
    except SnapshotError as refusal:
        return one_line(refusal)
    assert found.reports >= 0
    for question in HEADLINES.get(found.survey.name, []):
        try:
            found.ask(question)
        except QueryError:
            continue
        except SnapshotError:
            return "accepted, not estimated"
    return "accepted"
