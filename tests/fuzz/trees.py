"""Damage to tables: a branch of a tree of dicts, lists and plain values is cut, moved, doubled, nested or swapped."""

import copy
from collections.abc import Sequence
from random import Random
from typing import Any

from tests.fuzz.octets import NASTY_TEXT

NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 7, 8, 31, 33, 64, 100, 1 << 16, (1 << 16) + 1, 1 << 20, 1 << 24, 1 << 28, (1 << 28) + 1, 1 << 31,
    1 << 53, (1 << 63) - 1, 1 << 63, 1 << 64, -(1 << 63), 10**30, 10**400, 0.0, -0.0, 0.5, 1.0, -1.0, 1e-300, 5e-324,
    1e-9, 1e-6, 49.9, 50.0, 50.1, 1e9, 1e300, 1.7e308, float("inf"), float("-inf"), float("nan"), True, False,
)  # fmt: skip
DEPTHS = (1, 2, 10, 200, 3_000)
Path = tuple[Any, ...]


def damaged_tree(random: Random, given: Any, others: Sequence[Any] = ()) -> Any:
    """A copy of a tree after one to three blows."""
    tree = copy.deepcopy(given)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        tree = _blow(random, tree, others)
    # Nesting comes last: nobody can copy what is nested thousands deep.
    if random.random() < 0.02 and isinstance(tree, dict) and tree:
        key = random.choice(list(tree))
        tree[key] = nested(random, tree[key])
    return tree


def _blow(random: Random, tree: Any, others: Sequence[Any]) -> Any:
    places = list(_places(tree))
    path = random.choice(places)
    if not path:
        return tree if random.random() < 0.95 else _anything(random)
    holder = tree
    for step in path[:-1]:
        holder = holder[step]
    key, value = path[-1], holder[path[-1]]
    match random.randrange(9):
        case 0:
            del holder[key]
        case 1 | 2:
            holder[key] = _like(random, value)
        case 3:
            holder[key] = _anything(random)
        case 4:
            holder[key] = [value] if random.random() < 0.5 else {"a": value}
        case 5 if isinstance(holder, dict):
            holder[random.choice(("", "size", "kind", "é", "extra", "low", "first", str(key) + " "))] = value
        case 5:
            holder.insert(random.randint(0, len(holder)), value)
        case 6 if isinstance(holder, dict):
            holder[random.choice(("x", "values", "bins", "categories", "blocks", "matrix"))] = holder.pop(key)
        case 6:
            random.shuffle(holder)
        case 7 if others:
            other = random.choice(others)
            found = _at(other, random.choice(list(_places(other))))
            holder[key] = copy.deepcopy(found)
        case 7:
            holder[key] = [value] * random.choice((0, 2, 50))
        case _:
            other_key = random.choice(places)
            holder[key] = copy.deepcopy(_at(tree, other_key))
    return tree


def _like(random: Random, value: Any) -> Any:
    """Another value of the same kind, mostly."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + random.choice((-1, 1, -2, 2)) if random.random() < 0.4 else random.choice(NUMBERS)
    if isinstance(value, float):
        return (
            value * random.choice((0.5, 2.0, -1.0, 1e-3, 1 + 1e-15))
            if random.random() < 0.4
            else random.choice(NUMBERS)
        )
    if isinstance(value, str):
        return random.choice(NASTY_TEXT) if random.random() < 0.5 else value + random.choice(NASTY_TEXT)
    if isinstance(value, list):
        return value[: random.randint(0, len(value))] + random.choice(([], value, [random.choice(NUMBERS)]))
    return _anything(random)


def _anything(random: Random) -> Any:
    return random.choice(
        (None, [], {}, [[]], [{}], {"": None}, random.choice(NASTY_TEXT), random.choice(NUMBERS), "inf")
    )


def nested(random: Random, value: Any) -> Any:
    """A value inside so many lists or tables."""
    table = random.random() < 0.5
    for _ in range(random.choice(DEPTHS)):
        value = {"a": value} if table else [value]
    return value


def _places(tree: Any, path: Path = (), depth: int = 0) -> list[Path]:
    """Every branch of a tree but for the deepest; of long lists the first few."""
    found: list[Path] = [path]
    if depth < 8:
        if isinstance(tree, dict):
            for key, value in tree.items():
                found += _places(value, (*path, key), depth + 1)
        elif isinstance(tree, list):
            for number, value in enumerate(tree[:6]):
                found += _places(value, (*path, number), depth + 1)
    return found


def _at(tree: Any, path: Path) -> Any:
    for step in path:
        tree = tree[step]
    return tree
