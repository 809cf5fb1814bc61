"""Every condition of every script that no mutant by hand takes out, switched off and switched on.

What stands in `EQUIVALENT` may be switched without anybody noticing, for the reason beside it.
"""

import re

from hearsay.collector.store import scripts
from tests.chaos.mutants import BOUNDS, CLOCKS, GUARDS, IDS, MARKS, MERGE, MUTANTS, ONCE, ROUNDS, SHARD, Mutant

GROWTH, LOOK, REGISTRY, PURGE, STANDING = (
    "tests/collector/store/test_growth.py",
    "tests/collector/store/test_look.py",
    "tests/collector/store/test_registry.py",
    "tests/collector/test_purge.py",
    "tests/ops/test_standing_still.py",
)
ASKED = (IDS, SHARD, MARKS, GUARDS, BOUNDS, ROUNDS, CLOCKS, ONCE, MERGE, GROWTH, LOOK, REGISTRY, PURGE, STANDING)
EQUIVALENT: dict[tuple[str, str, str], str] = {
    ("publish", "always", "named > 0"): "without ids none is known; this only spares a look at the floor",
    (
        "cut",
        "always",
        "redis.call('HEXISTS', meta, 'entries_in') == 1",
    ): "where meta has no totals, nothing is added and nothing removed; this only spares six commands",
    ("cut", "never", "full"): "what is full takes no entry more; this only spares a look at the next one",
    ("cut", "always", "at > #page"): "reads the same marks again for every batch, one page each: slower, not different",
    (
        "cut",
        "never",
        "rest",
    ): "what is left of a batch is found from the cursor too; a shorter mark spares reading it",
    ("cut", "never", "stray"): "only says how soon young entries without a mark are looked at; old ones are cut",
    ("cut", "always", "newest_round > 0"): "without rounds there is none to look at, and the round found is not used",
}
_CONDITION = re.compile(r"\b(?P<word>(?:else)?if)\b(?P<condition>.*?)\bthen\b[^\n]*", re.DOTALL)
_COMMENT = re.compile(r"--[^\n]*")


def switched() -> tuple[Mutant, ...]:
    """Two mutants for each such condition, but for those that make no difference."""
    return tuple(mutant for mutant in all_switched() if _key(mutant) not in EQUIVALENT)


def all_switched() -> tuple[Mutant, ...]:
    """Two mutants for each such condition."""
    return tuple(mutant for name in scripts.NAMES for mutant in _of_script(name))


def _key(mutant: Mutant) -> tuple[str, str, str]:
    kind, _, condition = mutant.guard.partition(": ")
    return mutant.script, kind, condition


def conditions(name: str) -> list[re.Match[str]]:
    """Every condition of a script, comments left out; places are those of the script's text."""
    code = _COMMENT.sub(lambda found: " " * len(found[0]), scripts.source(name, False))
    return list(_CONDITION.finditer(code))


def _of_script(name: str) -> list[Mutant]:
    text = scripts.source(name, False)
    by_hand = [(start := text.index(each.old), start + len(each.old)) for each in MUTANTS if each.script == name]
    mutants = []
    for found in conditions(name):
        if any(start < found.end() and end > found.start() for start, end in by_hand):
            continue
        old = text[found.start() : found.end()]
        condition, (first, last) = " ".join(found["condition"].split()), found.span("condition")
        before, after = text[found.start() : first], text[last : found.end()]
        for kind, new in (("never", f" false and ({condition}) "), ("always", f" true or ({condition}) ")):
            mutants.append(Mutant(name, f"{kind}: {condition}", old, before + new + after, ASKED))
    return mutants
