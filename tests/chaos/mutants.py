"""Scripts with one guard taken out in turn. A guard that no test needs is a guess.

Each mutant is a script's name, what it takes out, and the replacement. `python -m tests.chaos.mutants` prints the
table; `make verify` runs it.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import NamedTuple

import pytest

from hearsay.collector.store import scripts

_OTHERWISE = 70
LONGEST_TEST_S = 40  # on a busy machine; alone, none takes five


class Mutant(NamedTuple):
    """One guard less. `tests` are those that should notice; the others are not asked."""

    script: str
    guard: str
    old: str
    new: str
    tests: tuple[str, ...]


ONCE, SHARD, MARKS, MERGE = (
    "tests/collector/test_exactly_once.py",
    "tests/collector/store/test_shard.py",
    "tests/collector/store/test_marks.py",
    "tests/collector/test_merge.py",
)
CLOCKS, BOUNDS, ROUNDS, GUARDS, IDS = (
    "tests/collector/test_clocks.py",
    "tests/collector/store/test_bounds.py",
    "tests/estimator/test_rounds.py",
    "tests/collector/store/test_guards.py",
    "tests/collector/store/test_ids.py",
)
_OPEN = "redis.call('HEXISTS', meta, 'open') == 0"

MUTANTS = (
    Mutant("publish", "whole numbers only", "not (is_count(number)", "false and not (is_count(number)", (BOUNDS,)),
    Mutant("publish", "a repeat is stored once", "number <= last", "false", (ONCE,)),
    Mutant("publish", "the survey exists", "if not open then", "if false then", (SHARD,)),
    Mutant("publish", "a writer may be forgotten", "not known and observed - seen > dedup_ms", "false", (CLOCKS,)),
    Mutant("publish", "nothing before it is missing", "number > last + 1", "false", (ONCE,)),
    Mutant("publish", "the survey is open", "open == '0'", "false", (SHARD,)),
    Mutant("publish", "the round is open", "newest[1] ~= round or newest[2] ~= '1'", "false", (ROUNDS,)),
    Mutant("publish", "a mark from the future is void", "now >= pressure_at and", "", (CLOCKS,)),
    Mutant("publish", "pressure is heeded", "if pressure and now", "if false and now", (ONCE,)),
    Mutant("publish", "under pressure nothing is taken", "if cause then", "if false then", (ONCE, SHARD)),
    Mutant("publish", "the backlog is bounded", "redis.call('XLEN', stream) >= max_entries", "false", (SHARD, BOUNDS)),
    Mutant("publish", "memory is bounded", "limit > 0 and used >= memory_share * limit", "false", (SHARD,)),
    Mutant("publish", "a refusal for memory is noted",
           "redis.pcall('HSET', published, 'memory_at', string.format('%.0f', now))", "", (SHARD,)),
    Mutant("publish", "who gets an answer is remembered", "if known and open then", "if false then", (CLOCKS, ONCE)),
    Mutant("publish", "a mark per batch", "if first_id then", "if false then", (MARKS,)),
    Mutant("publish", "a key for every hour", "or named ~= #KEYS - IDS", "", (IDS,)),
    Mutant("publish", "an hour is a whole number", "not is_count(tonumber(ARGV[5 + 2 * i])) or ", "", (IDS,)),
    Mutant("publish", "ids are 12 bytes", "or #ARGV[6 + 2 * i] % WIDTH ~= 0", "", (IDS,)),
    Mutant("publish", "an id below the floor is expired", "tonumber(ARGV[5 + 2 * i]) <= floor", "false", (IDS,)),
    Mutant("publish", "a known id is named", "if expired or digests[at] then", "if expired then", (IDS,)),
    Mutant("publish", "with a known id nothing is appended", "if #repeats > 0 then", "if false then", (IDS,)),
    Mutant("publish", "every id is remembered", "redis.call('HSET', KEYS[IDS + i], unpack(pairs_of))", "", (IDS,)),
    Mutant("publish", "an hour lives as long as its last id",
           "redis.call('HSET', hours, ARGV[5 + 2 * i]", "redis.call('HSETNX', hours, ARGV[5 + 2 * i]", (IDS,)),
    Mutant("leave", "only a known writer", "if not known then return 0 end", "known = known or '0 0'", (GUARDS,)),
    Mutant("leave", "not forgotten at once", "+ soon_ms", "- 1", (SHARD,)),
    Mutant("cut", "deltas are bounded in number", "redis.call('HLEN', deltas) >= max_deltas", "false", (SHARD,)),
    Mutant("cut", "deltas are bounded in bytes",
           "tonumber(redis.call('HGET', meta, 'delta_bytes') or '0') >= max_delta_bytes", "false", (SHARD,)),
    Mutant("cut", "the survey exists", f"if {_OPEN} then return {{'empty'}} end", "", (GUARDS,)),
    Mutant("cut", "strays are found before a batch",
           "head and '(' .. head.first or '+', 'COUNT', 1)[1]", "'(0-1', 'COUNT', 1)[1]", (MARKS,)),
    Mutant("cut", "an entry's round is where it stands", "if closed and is_after(oldest_id, closed) then break end",
           "", (ROUNDS,)),
    Mutant("cut", "a range ends with its round",
           "if mark and until_id and is_after(mark.first, until_id) then mark = nil end", "", (ROUNDS,)),
    Mutant("cut", "a closed round is cut at once", "and not until_id and window_at", "and window_at", (ROUNDS,)),
    Mutant("cut", "where the clock went back nothing is young", "now >= oldest_ms and now - oldest_ms < age_ms",
           "now - oldest_ms < age_ms", (CLOCKS,)),
    Mutant("cut", "a range never crosses a window", "return entry_window == window and", "return", (SHARD, CLOCKS)),
    Mutant("cut", "bytes are bounded", "and bytes + more_bytes <= max_bytes\n", "\n", (SHARD, MARKS)),
    Mutant("cut", "strays between batches are read", "then read(upper, nil) end", "then end", (MARKS,)),
    Mutant("cut", "a batch larger than a range is cut in pieces",
           "if first or (mark.bytes <= max_bytes and", "if true or (mark.bytes <= max_bytes and", (MARKS, SHARD)),
    Mutant("cut", "an entry that does not fit ends the range",
           "if first and not fits(entry_window,", "if false and not fits(entry_window,", (MARKS, SHARD)),
    Mutant("cut", "young ranges wait", "if not full and young then return {'young'} end", "", (MARKS,)),
    Mutant("cut", "a window that is over is cut at once", "or window_at(now) > window)", ")", (GUARDS,)),
    Mutant("commit", "the range is there", "not range or ", "", (ONCE,)),
    Mutant("commit", "the survey exists", "or redis.call('HEXISTS', meta, 'open') == 0", "", (GUARDS,)),
    Mutant("commit", "the nonce is the range's", "range_nonce ~= nonce", "false", (ONCE,)),
    Mutant("commit", "all parts are there", "return 'parts' end", "end end", (GUARDS,)),
    Mutant("commit", "parts stay", "redis.call('PERSIST', KEYS[i])", "redis.call('EXISTS', KEYS[i])", (ONCE,)),
    Mutant("commit", "once", "redis.call('HDEL', ranges, seq)", "", (ONCE,)),
    Mutant("merge", "the last merge is the one read", "if at ~= fence then return refuse('stale') end", "", (MERGE,)),
    Mutant("merge", "the survey exists", f"if {_OPEN} then return refuse('stale') end", "", (MERGE,)),
    Mutant("merge", "all chunks are there", "return refuse('chunks') end", "end", (MERGE,)),
    Mutant("merge", "all deltas are there",
           "if redis.call('HEXISTS', deltas, ARGV[i]) == 0 then return refuse('stale') end", "", (MERGE,)),
    Mutant("merge", "a new fence", ", 'fence', nonce", "", (MERGE,)),
    Mutant("merge", "old chunks go", "if old then redis.pcall('UNLINK', old) end", "", (MERGE,)),
    Mutant("merge", "new chunks stay", "redis.call('PERSIST', staged)", "", (MERGE,)),
    Mutant("merge", "merged deltas go", "redis.call('HDEL', deltas, ARGV[i])", "", (MERGE, ONCE)),
    Mutant("trim", "the survey exists", f"if {_OPEN} then return 0 end", "", (GUARDS,)),
    Mutant("trim", "a jump forward is one step", ", longest_step_ms)", ", 2 ^ 50)", (CLOCKS,)),
    Mutant("trim", "a clock that goes back adds nothing", "math.max(now - tonumber(fields[2] or now), 0)",
           "(now - tonumber(fields[2] or now))", (GUARDS,)),
    Mutant("trim", "only silent writers are forgotten", "< oldest then", "< 2 ^ 60 then",
           (f"{SHARD}::test_trimming_forgets_no_writer_that_lives",)),  # in others a writer sends for ever
    Mutant("trim", "ids are kept for a day", "stamp < oldest and hour", "hour", (IDS,)),
    Mutant("trim", "an hour of the future is kept", "and hour * HOUR_MS <= now then", "then", (IDS,)),
    Mutant("trim", "the floor never sinks", "if raised > floor then", "if raised > -1 then", (IDS,)),
    Mutant("trim", "hours above the floor stay", "and tonumber(stamps[i]) <= raised then", "then", (IDS,)),
    Mutant("trim", "forgotten ids go", "redis.pcall('UNLINK', ids .. stamps[i])", "", (IDS,)),
    Mutant("trim", "a forgotten hour goes", "redis.call('HDEL', hours, stamps[i])", "", (IDS,)),
    Mutant("trim", "what is outstanding stays", "ms, number, least = first_ms, first_number, first", "", (SHARD,)),
    Mutant("reissue", "the range is there",
           "if not range then return {'gone'} end", "range = range or '1-1 1-1 1 1 n 1 0 0 x'", (GUARDS,)),
    Mutant("reissue", "nonce and attempt are those seen",
           "words[NONCE] ~= nonce or words[ATTEMPT] ~= attempt_seen", "false", (GUARDS,)),
    Mutant("reissue", "what was put aside stays so", "words[STATE] == 'quarantined'", "false", (GUARDS,)),
    Mutant("reissue", "a lease is kept", "return {'leased'}", "local _ = 0", (SHARD,)),
    Mutant("reissue", "no lease outlives a clock that went back", "now >= tonumber(words[TIME]) and", "", (CLOCKS,)),
    Mutant("reissue", "five attempts", "if attempt >= attempts then", "if false then", (SHARD,)),
    Mutant("close", "the survey exists", f"if {_OPEN} then return {{'gone', 0}} end", "", (GUARDS,)),
    Mutant("close", "a backlog that is empty is not skipped",
           "if entries <= 0 then return {'empty', 0} end", "", (SHARD,)),
    Mutant("close", "marks of what is skipped go", "redis.call('DEL', marks)", "", (MARKS,)),
    Mutant("close", "a range that is gone is not skipped", "if not range then return {'gone', 0} end",
           "range = range or '1-1 1-1 1 1'", (GUARDS,)),
    Mutant("round", "the survey exists", f"if {_OPEN} then return 'gone' end", "", (GUARDS,)),
    Mutant("round", "a round is opened once", "if newest >= number then return 'known' end", "", (ROUNDS,)),
    Mutant("round", "one after the other, the last one closed",
           "if newest + 1 ~= number or open then return 'stale' end", "", (ROUNDS,)),
    Mutant("round", "only the newest is closed", "if newest ~= number then return 'stale' end", "", (ROUNDS,)),
    Mutant("round", "a round is closed once", "if not open then return 'known' end", "", (ROUNDS, GUARDS)),
    Mutant("pressure", "the survey exists", f"if {_OPEN} then return 0 end", "", (GUARDS,)),
    Mutant("purge", "the survey exists", f"if {_OPEN} then return 'gone' end", "", (GUARDS,)),
    Mutant("purge", "kept for as long as it should", "return 'young'", "local _ = 0", (GUARDS,)),
    Mutant("purge", "only this window's deltas", "string.sub(field, 1, #start) == start", "true", (GUARDS,)),
    Mutant("show", "the survey exists", f"if {_OPEN} then return 0 end", "", (GUARDS,)),
    Mutant("show", "only over an older one",
           "if stored_version and tonumber(stored_version) >= version then return 0 end", "", (GUARDS,)),
)  # fmt: skip


def mutated(mutant: Mutant) -> str:
    """The script without the guard; an error where the guard is not there, or there twice."""
    text = scripts.source(mutant.script, False)
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.script}: {mutant.guard}: found {text.count(mutant.old)} times")
    return text.replace(mutant.old, mutant.new)


@contextmanager
def without(mutant: Mutant) -> Iterator[None]:
    """Scripts that are made from now on lack the guard."""
    original, text = scripts.source, mutated(mutant)

    def source(name: str, flags: bool) -> str:
        whole = original(name, flags)
        flags = whole[: whole.index("\n") + 1] if whole.startswith("#!") else ""
        return flags + text if name == mutant.script else whole

    scripts.source = source  # type: ignore[assignment]
    try:
        yield
    finally:
        scripts.source = original


class _Impatient:
    """A pytest plugin: a test that does not end fails, since without a guard a script may go on for ever."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        def ring(*_: object) -> None:
            pytest.fail(f"the test did not end within {LONGEST_TEST_S} s")  # no error that a client takes for its own

        before = signal.signal(signal.SIGALRM, ring)
        signal.alarm(LONGEST_TEST_S)
        try:
            return (yield)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)


def outcome(tests: Sequence[str]) -> int:
    """How these tests end, without a word; in a process of their own, so that none finds what another left."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    ended = _OTHERWISE
    try:
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
            ended = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests], [_Impatient()]))
    finally:
        os._exit(ended)


def is_noticed(mutant: Mutant) -> bool:
    """Whether one of its tests fails without the guard."""
    with without(mutant):
        return outcome(mutant.tests) == pytest.ExitCode.TESTS_FAILED


def main(words: list[str]) -> int:
    """Print the table, of all scripts or of those named; `2/3` is the second third of it. 1 where a guard could go and
    nobody would notice, or where the tests fail though nothing was taken out: then they would notice everything."""
    from tests.chaos.conditions import switched  # which leaves out what is listed here

    part = next((word for word in words if "/" in word), "1/1")
    chosen, (number, of) = [word for word in words if word != part], map(int, part.split("/"))
    mutants = [each for each in (*MUTANTS, *switched()) if not chosen or each.script in chosen][number - 1 :: of]
    if outcome(sorted({test for each in mutants for test in each.tests})) != pytest.ExitCode.OK:
        print("the tests fail though nothing was taken out")
        return 1
    unnoticed = 0
    print("| script | guard | noticed |\n|---|---|---|", flush=True)
    for mutant in mutants:
        noticed = is_noticed(mutant)
        unnoticed += not noticed
        print(f"| {mutant.script.upper()} | {mutant.guard} | {'yes' if noticed else 'NO'} |", flush=True)
    print(f"{len(mutants)} mutants, {unnoticed} unnoticed")
    return int(unnoticed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
