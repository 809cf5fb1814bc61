"""The reference pages that are made from the code: `make docs` writes them, a test checks that they are up to date."""

from collections.abc import Iterator
from pathlib import Path

import click

from hearsay.ops.cli import cli
from hearsay.ops.config import TABLE
from hearsay.ops.exits import Exit
from hearsay.ops.pages.http import http_page
from hearsay.ops.pages.metrics import metrics_page
from hearsay.ops.pages.queries import queries_page
from hearsay.ops.pages.reference import survey_page, wire_page

DOCS = Path(__file__).parents[3] / "docs"
HELP_WIDTH = 100


def commands(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command below a group with its path, groups before what they hold."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(
            command, parent=context, info_name=name, max_content_width=HELP_WIDTH, terminal_width=HELP_WIDTH
        )
        yield inner.command_path, command, inner
        if isinstance(command, click.Group):
            yield from commands(command, inner)


def root_context() -> click.Context:
    """The context in which help is written, independent of the terminal."""
    names = cli.context_settings["help_option_names"]
    return click.Context(
        cli, info_name="hearsay", max_content_width=HELP_WIDTH, terminal_width=HELP_WIDTH, help_option_names=names
    )


def cli_page() -> str:
    """docs/reference/cli.md: the help of every command."""
    root = root_context()
    lines = [
        "# Command line",
        "",
        "Written from the help of every command by `make docs`.",
        "",
        "| exit code | meaning |",
        "|---|---|",
        *(f"| {code.value} | {code.meaning} |" for code in Exit),
        "",
        "```text",
        cli.get_help(root),
        "```",
    ]
    for path, command, context in commands(cli, root):
        lines += ["", f"{'#' * (path.count(' ') + 1)} {path}", "", "```text", command.get_help(context), "```"]
    return "\n".join(lines) + "\n"


def configuration_page() -> str:
    """docs/reference/configuration.md: the table of settings."""
    lines = [
        "# Configuration",
        "",
        "Written from `hearsay/ops/config.py` by `make docs`.",
        "",
        "A flag wins over the environment, which wins over the default; an empty variable counts as absent. Each",
        "command has the flags that it needs; the variables hold for all of them. A setting that is not allowed ends",
        "a command with one line and exit code 2. A `HEARSAY_` variable that is not in the table is named on stderr.",
        "Passwords in URLs are never printed or logged.",
        "",
        "`rediss://` in a URL is TLS. The variable `SSL_CERT_FILE`, or `?ssl_ca_certs=FILE` in the URL, names the",
        "certificate of an authority of your own ([operating](../how-to/operating.md#a-server-of-your-own)).",
        "",
        "| flag | variable | default | what it is |",
        "|---|---|---|---|",
    ]
    for setting in TABLE:
        default = f"`{setting.default}`" if setting.default else setting.otherwise
        flag = f"`{setting.flag}`" if setting.roles or setting.option else "none: a list of processes would show it"
        lines.append(f"| {flag} | `{setting.environment}` | {default} | {setting.help} |")
    lines += [
        "",
        "Modules that `HEARSAY_PLUGINS` names are looked for in the folder that a command is started in, then among",
        "what is installed, by the script `hearsay`, by `python -m hearsay` and by the workers alike. They are",
        "imported whole at once; the script imports nothing else from that folder. So start all processes of a",
        "deployment in the folder that has the modules, or install them.",
        "",
        "Limits and time-outs of the protocol (sizes of ranges, leases, attempts, back-pressure) are not settings:",
        "they stand with their reasons in `hearsay/collector/limits.py`.",
        "",
        "Logs are JSON lines on stderr, times in UTC. Everything listens on 127.0.0.1 unless told otherwise.",
    ]
    return "\n".join(lines) + "\n"


PAGES = {
    "reference/cli.md": cli_page,
    "reference/configuration.md": configuration_page,
    "reference/http.md": http_page,
    "reference/metrics.md": metrics_page,
    "reference/queries.md": queries_page,
    "reference/survey.md": survey_page,
    "reference/wire.md": wire_page,
}


def main() -> None:
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
