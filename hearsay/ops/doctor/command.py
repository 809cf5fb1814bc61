"""`hearsay doctor`: environment, server and processes, one line each."""

import click

from hearsay.ops.config import Settings
from hearsay.ops.doctor.findings import Finding
from hearsay.ops.doctor.machine import machine_findings
from hearsay.ops.doctor.server import look_at_server
from hearsay.ops.exits import Exit
from hearsay.ops.terminal.options import json_option, uses
from hearsay.ops.terminal.present import print_json

_SETTINGS = ("redis_url", "queue_url", "redis_port", "data_dir", "prefix", "queue", "host", "port", "plugins")


@click.command()
@json_option
@uses(*_SETTINGS)
def command(settings: Settings, as_json: bool) -> int:
    """Check the environment, the server and the processes, one line each.

    Exits with 1 where something is wrong; each such line says what to do. A server or a process that does not run yet
    is wrong too: run it again after `make run`.
    """
    server = look_at_server(settings)
    findings: list[Finding] = [*machine_findings(settings, server.running), *server.findings]
    if as_json:
        print_json([finding._asdict() for finding in findings])
    else:
        width = max(len(finding.what) for finding in findings)
        for finding in findings:
            click.echo(f"{'ok   ' if finding.ok else 'WRONG'}  {finding.what:<{width}}  {finding.words}")
    return Exit.DONE if all(finding.ok for finding in findings) else Exit.CHECK_FAILED
