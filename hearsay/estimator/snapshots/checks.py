"""Checks of snapshots from untrusted sources: impossible rounds, and states that no set of reports produces.

A snapshot's checksum shows that its files belong together, not who made them. A count below zero, or above the number
of reports, makes estimators take roots of negative numbers; such errors are reported as errors of the snapshot.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from hearsay.collector.errors import NotAllowed, StateError
from hearsay.collector.store.state import check_overflow
from hearsay.collector.survey.survey import Survey
from hearsay.collector.survey.windows import ALL
from hearsay.estimator.errors import SnapshotError
from hearsay.mechanisms import State
from hearsay.mechanisms.errors import QueryError


@contextmanager
def refusing_impossible_counts() -> Iterator[None]:
    """Inside the block, an arithmetic error is raised as a SnapshotError; a QueryError stays what it is."""
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            yield
    except QueryError:
        raise  # the question is wrong, not the snapshot
    except (ArithmeticError, ValueError, IndexError, np.linalg.LinAlgError):
        raise SnapshotError(
            "snapshot cannot be estimated: its counts are impossible: no set of reports produces them"
        ) from None


def history(metadata: Mapping[str, Any], survey: Survey) -> list[dict[str, Any]]:
    """What earlier rounds made public, one table per round; the mechanism checks a table when it uses it."""
    rounds = metadata.get("rounds", [])
    if not isinstance(rounds, list) or not all(isinstance(each, dict) for each in rounds):
        raise NotAllowed(what="rounds", expected="a list of tables")
    if len(rounds) >= max(survey.mechanism.rounds, 1):
        raise NotAllowed(what="rounds", expected=f"fewer than {survey.mechanism.rounds}", got=len(rounds))
    return rounds


def check_arrays(directory: str | Path, state: State, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse arrays that do not have the shapes and type of the survey's state, and numbers near overflow."""
    for name, shape in shapes.items():
        if state[name].shape != shape or state[name].dtype != np.int64:
            got = f"{state[name].dtype} {list(state[name].shape)}"
            raise SnapshotError(what=f"{directory}: array state/{name}", expected=f"int64 {list(shape)}", got=got)
        try:
            check_overflow(state[name])
        except StateError as error:
            raise SnapshotError(f"{directory}: array state/{name}: {error}", **error.fields) from None


def check_apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Refuse two snapshots, by what they say, of which one holds the other: a difference takes them for independent.

    Two of `all` may be two samples under one definition, or earlier and later ones of the same; they cannot be told
    apart, unless they are the same.
    """
    if one["tag"] != other["tag"]:
        return
    windows = [each["window"] for each in (one, other)]
    sums = [window == ALL or ":" in window for window in windows]
    same = windows[0] == windows[1] and (not any(sums) or one.get("checksum") == other.get("checksum"))
    if same or sums[0] != sums[1]:
        both = " and ".join(windows)
        raise QueryError(
            what="against",
            expected="a snapshot of other windows",
            ending=f", these hold {both} of the same survey",
        )
