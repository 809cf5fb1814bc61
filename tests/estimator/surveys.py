"""Small surveys of different kinds, and states made from seeded devices."""

from typing import Any

from numpy.typing import NDArray

from hearsay.collector.store.registry import Registered
from hearsay.collector.survey.survey import Survey, parse
from hearsay.collector.wire.codec import codec
from hearsay.mechanisms import State
from hearsay.mechanisms.exact.randomness import seeded
from tests.mechanisms.shared import skewed_cells
from tests.pipeline import fold_all


def colours(**changes: Any) -> Survey:
    """A categorical survey under hrr."""
    domain = {"kind": "categorical", "categories": ["red", "green", "blue"]}
    return parse({"name": "colours", "mechanism": "hrr", "epsilon": 2.0, "domain": domain, **changes})


def devices(survey: Survey, count: int, seed: int = 1) -> dict[str, NDArray[Any]]:
    """Reports of so many devices with skewed values."""
    return survey.mechanism.perturb(skewed_cells(survey.mechanism, count, seed), seeded(seed))


def state_of(survey: Survey, count: int, seed: int = 1) -> State:
    """The state after so many devices."""
    return survey.mechanism.fold(survey.mechanism.empty(), devices(survey, count, seed))


def deliver(
    registered: Registered, count: int, seed: int = 1, shard: int = 0, at_ms: int | None = None
) -> dict[str, NDArray[Any]]:
    """Publish reports as one frame and fold them; with `at_ms` they were appended at that time of the server."""
    store = registered.shards[shard]
    reports = devices(registered.survey, count, seed)
    frame = codec(registered.survey.mechanism).encode_frame(reports)
    if at_ms is None:
        assert store.publish(f"writer-{seed}-{shard}", 1, [(b"f", frame)], count).status == "ok"
    else:
        store.node.client.xadd(store.keys.stream, {"f": frame}, id=f"{at_ms}-*")
    fold_all(store)
    return reports


def deliver_values(registered: Registered, values: Any, seed: int = 1, frame: int = 4_096) -> None:
    """Let one device per value report, in frames, and fold all of them."""
    mechanism, store = registered.survey.mechanism, registered.shards[0]
    for number, start in enumerate(range(0, len(values), frame), start=1):
        part = values[start : start + frame]
        reports = mechanism.perturb(part, seeded(seed + number))
        encoded = codec(mechanism).encode_frame(reports)
        assert store.publish(f"writer-{seed}-{len(values)}", number, [(b"f", encoded)], len(part)).status == "ok"
    fold_all(store)
