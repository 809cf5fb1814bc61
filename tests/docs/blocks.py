"""The fenced blocks of a page, in order, with what the page says of each.

A block is a **file** where the paragraph before it ends with the file's name (`` `people.csv`: ``), **output** where it
stands directly below a block of commands or a program, and otherwise what its language says.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`([\w./-]+\.\w+|Procfile)`:\s*\Z")
RUN = ("sh", "python")
OUTPUT = ("text", "json")


@dataclass
class Block:
    """One block: its language and text, the line where it starts, the file that it is, the output shown below it."""

    language: str
    text: str
    line: int
    file: str | None
    output: str | None = field(default=None)


def blocks(page: Path) -> list[Block]:
    """All blocks of a page; what is output is kept with the block that prints it."""
    text, found, end = page.read_text(encoding="utf-8"), list[Block](), 0
    for match in FENCE.finditer(text):
        between = text[end : match.start()]
        end = match.end()
        language, body = match[1], match[2]
        named = FILE.search(between)
        runs_before = bool(found) and found[-1].language in RUN and found[-1].file is None
        if language in OUTPUT and runs_before and not between.strip():
            found[-1].output = body
        else:
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(language, body, line, named[1] if named else None))
    return found
