"""Runs the blocks of a page in order: commands in one shell, Python in one interpreter, as a reader would."""

import doctest
import os
import re
import selectors
import subprocess
import sys
import time
import tomllib

from tests.docs.blocks import Block
from tests.docs.clone import Clone

COMMAND_S = 120.0
SERVICE = re.compile(r"make run\b|hearsay (?:redis(?! acl)|collect|work|estimate|gateway)\b")
SENDS = re.compile(r"\bproduce\b|\bpublish\b|\bsubmit\b|\.py\b")
# A loop that executes what comes in, up to a line with nothing but the mark, in one namespace.
INTERPRETER = """
import sys, traceback
names = {"__name__": "__main__"}
for mark in sys.stdin:
    lines = []
    for line in sys.stdin:
        if line == mark:
            break
        lines.append(line)
    try:
        exec(compile("".join(lines), "<the page>", "exec"), names)
        code = 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stderr.flush()
    print(mark.rstrip(), code, flush=True)
"""
MARK = "---8<--- end of block"


class Failed(AssertionError):
    """A block did not do what the page says."""


class Session:
    """A terminal in a clone; `run` takes a block, and fails where it fails or prints something else than is shown."""

    def __init__(self, clone: Clone, elsewhere: dict[str, str], activated: bool) -> None:
        """`elsewhere` has the commands that are left out; `activated`: `. .venv/bin/activate` was typed before."""
        self._clone, self._elsewhere, self._activated = clone, elsewhere, activated
        self._errors = clone.folder.parent / "stderr"
        self._shell: subprocess.Popen[str] | None = None
        self._python: subprocess.Popen[str] | None = None

    def run(self, block: Block) -> None:
        """Write a file, run commands or a program; compare what was printed."""
        if block.file is not None:
            self._write(block)
        elif block.language == "sh":
            self._compare(block, "".join(map(self._command, commands(block.text))))
        elif block.language == "python":
            self._compare(block, self._execute(block.text))

    def close(self) -> None:
        """End shell and interpreter."""
        for each in (self._shell, self._python):
            if each is not None:
                each.communicate()

    def _write(self, block: Block) -> None:
        assert block.file is not None
        path = self._clone.folder / block.file
        if not path.exists():
            path.write_text(self._clone.with_ports(block.text), encoding="utf-8")
        elif block.language == "toml":
            if tomllib.loads(path.read_text(encoding="utf-8")) != tomllib.loads(block.text):
                raise Failed(f"{block.file} is another survey than the page shows")
        elif path.read_text(encoding="utf-8") != block.text:
            raise Failed(f"{block.file} has other lines than the page shows")

    def _command(self, command: str) -> str:
        plain = command.partition("  #")[0].strip()
        if plain in self._elsewhere:
            return ""
        if SERVICE.match(plain):
            self._clone.serve(self._clone.with_ports(plain))
            return ""
        if self._shell is None or self._shell.poll() is not None:
            self._shell = self._start(["bash", "--norc", "--noprofile"])
            if self._activated:
                self._ask(self._shell, f". .venv/bin/activate\necho '{MARK}' $?\n", "activate")
        block = f"{{ {self._clone.with_ports(command)}\n}} </dev/null\necho '{MARK}' $?\n"
        printed = self._ask(self._shell, block, command)
        if SENDS.search(plain):
            self._clone.settle()
        return printed

    def _execute(self, program: str) -> str:
        if self._python is None or self._python.poll() is not None:
            self._python = self._start([sys.executable, "-c", INTERPRETER])
        printed = self._ask(self._python, f"{MARK}\n{self._clone.with_ports(program)}{MARK}\n", program)
        if SENDS.search(program):
            self._clone.settle()
        return printed

    def _start(self, words: list[str]) -> "subprocess.Popen[str]":
        with self._errors.open("a") as errors:
            return subprocess.Popen(
                words,
                cwd=self._clone.folder,
                env=self._clone.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def _ask(self, process: "subprocess.Popen[str]", text: str, what: str) -> str:
        """What the process prints for a text, up to the mark; the mark's line has the exit code."""
        said = self._errors.stat().st_size if self._errors.exists() else 0
        assert process.stdin is not None
        process.stdin.write(text)
        process.stdin.flush()
        printed, deadline = "", time.monotonic() + COMMAND_S
        while (end := re.search(rf"{MARK} (\d+)\n", printed)) is None:
            printed += _more(process, deadline, what)
        if end[1] != "0":
            errors = self._errors.read_bytes()[said:].decode(errors="replace")
            raise Failed(f"exit code {end[1]} of\n{what}\n{printed[: end.start()]}{errors}")
        return printed[: end.start()]

    def _compare(self, block: Block, printed: str) -> None:
        if block.output is not None:
            differs = difference(block.output, self._clone.with_default_ports(printed))
            if differs:
                raise Failed(differs)


def difference(shown: str, printed: str) -> str:
    """Nothing where the output is what the page shows (`...` stands for anything), else both."""
    plain = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    if doctest.OutputChecker().check_output(shown, plain, doctest.ELLIPSIS):
        return ""
    return f"the page shows\n{shown}\nbut this is printed\n{plain}"


def commands(text: str) -> list[str]:
    """The commands of a block: a line each, or several where the shell wants more."""
    found, pending = [], ""
    for line in text.splitlines():
        pending += f"{line}\n"
        tried = subprocess.run(["bash", "-n"], input=pending, capture_output=True, text=True, check=False)
        if tried.returncode == 0 and not tried.stderr and not line.endswith("\\"):
            if pending.strip() and not pending.lstrip().startswith("#"):
                found.append(pending.strip())
            pending = ""
    assert not pending, f"no whole command: {pending}"
    return found


def _more(process: "subprocess.Popen[str]", deadline: float, what: str) -> str:
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        if not selector.select(max(deadline - time.monotonic(), 0)):
            process.kill()
            process.wait()
            raise Failed(f"no answer in {COMMAND_S:.0f} s from\n{what}")
    text = os.read(process.stdout.fileno(), 1 << 16).decode(errors="replace")
    if not text:
        raise Failed(f"the process ended in\n{what}")
    return text
