"""How a command ends: its exit codes and what each means. docs/reference/cli.md is written from this table."""

from enum import IntEnum


class Exit(IntEnum):
    """An exit code; `meaning` is its row in the documentation."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> "Exit":
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    DONE = 0, "done; also a service that was asked to stop by SIGTERM"
    CHECK_FAILED = (
        1,
        "a check failed (audit, experiment, bench, demo, status --check), or survey delete left something",
    )
    BAD_INPUT = 2, "bad input or environment: one line on stderr"
    BUG = 3, "a bug: the traceback as a JSON log line, then one line"
    INTERRUPTED = 130, "interrupted"
