"""Golden files: what the surveys of the first version meant, byte by byte.

`golden/surveys.json` holds, for every example survey that ships, its tag, the bytes of its frames, of its single
reports and of its state under a seeded generator, and the snapshot's document; `golden/examples.json` the hashes of
the same for every example of every mechanism. `python -m tests.test_golden` writes what is not there yet and never
touches the rest. Floating-point figures of a document may differ by 1e-6 of themselves: processors differ in the last
digits. OPENBLAS_CORETYPE=Haswell or SkylakeX and NPY_DISABLE_CPU_FEATURES show what other processors find.

Documents changed once since: intervals hold where reports are few (`stderr`, `low`, `high`), and quantiles come from
the isotonic cumulative share (`value`, `item`, `band`, `rank_stderr`); and the search for the interval of a dependence
takes the same directions on every processor (`low`, `high`). Tags did not. Bytes and states are another
sample of the same law where devices came to take the same steps whatever they hold (CHANGELOG.md names them).
"""

import hashlib
import json
import math
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hearsay.collector.survey.survey import Survey, load, parse
from hearsay.collector.wire.codec import codec
from hearsay.mechanisms import catalogue
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.simulate.simulation import simulate
from hearsay.producer.fleet import frames, singles

GOLDEN = Path(__file__).parent / "golden"
SURVEYS = sorted((Path(__file__).parent.parent / "ops" / "surveys").glob("*.toml"))
DEVICES = 3_000
RELATIVE, ABSOLUTE = 1e-6, 1e-10


def people(survey: Survey) -> Any:
    """Fixed cells, more of the first ones than of the last."""
    domain = survey.mechanism.domain
    generator = np.random.default_rng(zlib.crc32(survey.name.encode()))
    if not hasattr(domain, "shape"):
        return domain.people(lambda size: (generator.random(DEVICES) ** 2 * size).astype(np.int64))
    draws = generator.random((DEVICES, len(domain.shape))) ** 2
    cells = (draws * np.array(domain.shape)).astype(np.int64)
    return cells[:, 0] if len(domain.shape) == 1 else cells


def hashed(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()


def golden(survey: Survey) -> dict[str, Any]:
    """All of a survey that must not change."""
    mechanism, wire, cells = survey.mechanism, codec(survey.mechanism), people(survey)
    content = simulate(survey, cells, seeded(7))
    return {
        "tag": survey.tag,
        "frames": hashed(*(frame for frame, _ in frames(mechanism, wire, cells, seeded(7)))),
        "singles": hashed(*singles(mechanism, wire, cells[:500], seeded(7))),
        "state": {name: hashed(array.tobytes()) for name, array in content.state.items()},
        "document": {key: value for key, value in content.document().items() if key != "generated_at"},
    }


def examples() -> dict[str, dict[str, Any]]:
    """Every example of every mechanism that ships, as the table of a survey."""
    return {
        f"{name}-{number}": {"name": f"{name}-{number}".replace("+", "-plus"), "mechanism": name, **table}
        for name in catalogue.shipped()
        for number, table in enumerate(catalogue.examples(name), start=1)
    }


def example(table: dict[str, Any]) -> dict[str, Any]:
    """The exact part as it is, and the snapshot's answers to ten digits."""
    whole = golden(parse(table))
    return {**whole, "state": hashed(*(digest.encode() for digest in whole["state"].values()))}


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Where two documents differ, and by what."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from differences(one[key], other[key], f"{path}/{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for position, (part, of_other) in enumerate(zip(one, other, strict=True)):
            yield from differences(part, of_other, f"{path}/{position}")
    elif isinstance(one, float) and isinstance(other, float):
        if not math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE):
            yield f"{path}: {one!r}, was {other!r}"
    elif one != other:
        yield f"{path}: {one!r}, was {other!r}"


@cache
def stored(name: str) -> dict[str, Any]:
    path = GOLDEN / name
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


@pytest.mark.parametrize("path", SURVEYS, ids=lambda path: path.stem)
def test_an_example_survey_is_what_it_was(path: Path) -> None:
    assert list(differences(golden(load(path)), stored("surveys.json")[path.stem])) == []


@pytest.mark.parametrize("name", sorted(examples()))
def test_an_example_of_a_mechanism_is_what_it_was(name: str) -> None:
    assert list(differences(example(examples()[name]), stored("examples.json")[name])) == []


def test_no_example_was_dropped() -> None:
    assert set(stored("surveys.json")) <= {path.stem for path in SURVEYS}
    assert set(stored("examples.json")) <= set(examples())


def main() -> None:
    """Write what is missing."""
    GOLDEN.mkdir(exist_ok=True)
    made = {
        "surveys.json": {path.stem: golden(load(path)) for path in SURVEYS},
        "examples.json": {name: example(table) for name, table in examples().items()},
    }
    for name, new in made.items():
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted({**new, **stored(name)}.items())]
        (GOLDEN / name).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
