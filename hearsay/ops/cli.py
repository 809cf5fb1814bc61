"""The command `hearsay`: runs a command and turns its end into an exit code (`exits`)."""

import gc
import logging
import os
import sys
from collections.abc import Callable, Sequence

import click

from hearsay.collector import logs
from hearsay.errors import HearsayError, nearest
from hearsay.ops.errors import CheckFailed
from hearsay.ops.exits import Exit
from hearsay.ops.terminal.lazy import LazyGroup

COMMANDS = {
    "survey": ("hearsay.ops.commands.survey", "Register, list, show, close and delete surveys."),
    "init": ("hearsay.ops.survey_files.init", "Write a commented survey file, asking for what is missing."),
    "validate": ("hearsay.ops.survey_files.validate", "Check survey files, one line each, without a server."),
    "schema": ("hearsay.ops.survey_files.schema", "Print the JSON Schema of a survey file."),
    "demo": (
        "hearsay.ops.commands.demo",
        "Run the whole pipeline on simulated devices, and compare its answers with the truth.",
    ),
    "plan": ("hearsay.ops.commands.plan", "Choose mechanism, epsilon and number of users before any report exists."),
    "simulate": ("hearsay.ops.commands.simulate", "Run a survey on values in one process, without a server."),
    "release": (
        "hearsay.ops.commands.release",
        "Release a count, or a file of group counts, under epsilon-differential privacy.",
    ),
    "produce": ("hearsay.ops.commands.produce", "Publish the reports of simulated devices."),
    "gateway": ("hearsay.ops.commands.gateway", "Accept reports over HTTP, each request once, and shuffle them."),
    "key": ("hearsay.ops.commands.key", "Add, list, revoke and rotate keys of the gateway."),
    "collect": ("hearsay.ops.commands.collect", "Cut streams into ranges and hand them to the workers."),
    "work": ("hearsay.ops.commands.work", "Run workers, which fold ranges of reports."),
    "estimate": (
        "hearsay.ops.commands.estimate",
        "Materialise estimates, write snapshots, serve the page, metrics and the API.",
    ),
    "query": ("hearsay.ops.commands.query", "Ask a live survey or a snapshot."),
    "snapshot": ("hearsay.ops.commands.snapshot", "Write a snapshot of a live survey now."),
    "status": ("hearsay.ops.commands.status", "Show reports published, folded and waiting, and what is stalled."),
    "doctor": ("hearsay.ops.doctor.command", "Check the environment, the server and the processes, one line each."),
    "redis": ("hearsay.ops.commands.redis", "Run the embedded server in the foreground."),
    "audit": ("hearsay.ops.commands.audit", "Attack a mechanism's reports and compare with the claimed epsilon."),
    "bench": ("hearsay.ops.commands.bench", "Measure speed, each figure against a ceiling in the same run."),
    "experiment": ("hearsay.ops.commands.experiment", "Reproduce the papers' tables and figures."),
    "version": ("hearsay.ops.terminal.version", "Print the version."),
}


@click.group(cls=LazyGroup, commands_by_module=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="hearsay-ldp", message="%(prog)s %(version)s")
def cli() -> None:
    """Collect statistics under local differential privacy.

    Each report is hearsay; together they tell the truth. Settings come from flags, then HEARSAY_* variables, then
    defaults: see docs/reference/configuration.md.
    """


# After so many new objects Python looks for unreachable ones. After 700, its default, it does so again and again while
# the surveys of a registry are read, of which everything stays: a quarter of the time that takes.
_NEW_OBJECTS = 20_000
_NO_LOG = logging.NullHandler()


def main() -> None:
    """The console script."""
    gc.set_threshold(_NEW_OBJECTS)
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line; returns its exit code."""
    if sys.stdin is None:  # closed by the program that started this one: nothing can be read, as from an empty file
        sys.stdin = open(os.devnull)  # noqa: SIM115
    # What services log, a command says in one line of its own: without any handler Python would print warnings.
    logging.getLogger("hearsay").addHandler(_NO_LOG)
    return ending(lambda: cli.main(list(arguments), prog_name="hearsay", standalone_mode=False))


def ending(action: Callable[[], object]) -> int:
    """Run the action and return its exit code; write a line to stderr unless it is 0."""
    try:
        result = action()
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except CheckFailed as failure:
        return _end(Exit.CHECK_FAILED, *str(failure).splitlines())
    except click.NoSuchOption as error:
        return _end(
            Exit.BAD_INPUT, f"No such option {error.option_name!r}{_meant(error)} (see `{_path(error)} --help`)"
        )
    except click.UsageError as error:
        return _end(Exit.BAD_INPUT, f"{error.format_message()} (see `{_path(error)} --help`)")
    except click.ClickException as error:
        return _end(Exit.BAD_INPUT, error.format_message())
    except BrokenPipeError:
        return _silence()
    except Exception as error:
        if _is_bad_input(error):
            return _end(Exit.BAD_INPUT, _one_line(error))
        logs.configure("hearsay")
        logging.getLogger("hearsay").critical("unexpected error", exc_info=error)
        return _end(Exit.BUG, f"a bug in hearsay: {type(error).__name__}; the log line above has the details")
    return result if isinstance(result, int) else Exit.DONE


def _meant(error: click.NoSuchOption) -> str:
    """The options that are like the one given, if any are; the dashes that all have do not make them alike."""
    parameters = [] if error.ctx is None else error.ctx.command.get_params(error.ctx)
    flags = {
        name.lstrip("-"): name for each in parameters for name in (*each.opts, *each.secondary_opts) if name[:1] == "-"
    }
    near = nearest(error.option_name.lstrip("-"), flags, cutoff=0.6)
    return f"; the nearest: {', '.join(flags[name] for name in near)}" if near else "."


def _path(error: click.UsageError) -> str:
    return error.ctx.command_path if error.ctx is not None else "hearsay"


def _is_bad_input(error: Exception) -> bool:
    """Whether the input or the environment caused the error, not a bug."""
    import redis  # imported here: it would make `hearsay --help` slow

    servers = (redis.ConnectionError, redis.TimeoutError, redis.exceptions.OutOfMemoryError)
    permissions = (redis.exceptions.NoPermissionError, redis.exceptions.ReadOnlyError)
    return isinstance(error, (HearsayError, *servers, *permissions, OSError))


def _one_line(error: Exception) -> str:
    import redis

    if isinstance(error, redis.exceptions.NoPermissionError):
        return f"the Redis server does not let this user do that; name another in HEARSAY_REDIS_URL ({error})"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split()) or type(error).__name__


def _end(code: int, *messages: str) -> int:
    for message in messages:
        click.echo(f"hearsay: {' '.join(message.split())}", err=True)
    return code


def _silence() -> int:
    """The reader of our output closed the pipe: end quietly, also when Python flushes at exit."""
    sys.stdout = open("/dev/null", "w")  # noqa: SIM115
    return Exit.DONE
