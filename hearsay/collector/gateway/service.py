"""A gateway process: it serves HTTP on a listening socket, and does its upkeep every second.

On SIGTERM it takes no new connections, publishes at once the requests that wait, answers them, and ends: nothing
acknowledged is lost.
"""

import asyncio
import logging
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import redis
import uvicorn
from starlette.requests import Request

from hearsay.collector.gateway.app import Gateway
from hearsay.collector.gateway.counts import Counts
from hearsay.collector.gateway.keys import REFRESH_S, Keys
from hearsay.collector.gateway.pages import create_pages
from hearsay.collector.gateway.rates import Rates
from hearsay.collector.gateway.surveys import Surveys
from hearsay.collector.health.loop import Health
from hearsay.collector.health.taking import Taking, taking
from hearsay.collector.heartbeats import BEAT_S, Heartbeat
from hearsay.collector.http.server import Bounded, open_files, quiet_config
from hearsay.collector.logs import RepeatedWarnings
from hearsay.collector.roles import GATEWAY
from hearsay.collector.store.condition import why
from hearsay.collector.store.durability import MEMORY
from hearsay.collector.store.processes.gateway_counts import LOST
from hearsay.collector.store.registry import Registry
from hearsay.collector.store.servers.servers import silent

T = TypeVar("T")
_LOG = logging.getLogger("hearsay.gateway")
THREADS = 8  # batches published at once; each thread waits for Redis, not for the processor
TICK_S = 1.0
ASK_S = 2.0  # how often the servers are asked whether they take reports
STOP_S = 3.0  # honcho kills what is left five seconds after SIGTERM
CONNECTIONS = 8_192  # open at once; an idle one costs little. Beyond that, those idle for longest are closed


@dataclass(frozen=True)
class Options:
    """How a gateway behaves.

    A request waits `hold_s` seconds to be shuffled with others. `keys`: API keys are required. Web pages of `origins`
    may send reports. Rates are requests per second (0: no limit), by client address and by key.
    """

    hold_s: float = 1.0
    durable: str = MEMORY
    keys: bool = False
    origins: tuple[str, ...] = ()
    address_rate: float = 100.0
    key_rate: float = 0.0
    certificate: Path | None = None
    private_key: Path | None = None


class Connection(Bounded):
    """A connection of a device."""

    @property
    def most_connections(self) -> int:
        return min(CONNECTIONS, open_files() // 2)


class GatewayProcess(uvicorn.Server):
    """One process; `serve` runs it in an event loop, `run` makes one.

    `parent_pipe` is the reading end of a pipe: when it breaks, the parent process is gone and this one ends too.
    """

    def __init__(self, registry: Registry, options: Options, parent_pipe: int | None = None) -> None:
        self._registry, self._parent_pipe, self._durable = registry, parent_pipe, options.durable
        self._executor = ThreadPoolExecutor(THREADS, thread_name_prefix="publish")
        self._keys, self._counts = Keys(options.keys), Counts()
        self._surveys = Surveys(registry, self._executor, self._counts, hold_s=options.hold_s, durable=options.durable)
        self._health = Health("the first look at the server is not done yet")
        self._taking, self._warnings = Taking(0, {}), RepeatedWarnings(_LOG)
        rates = Rates(options.address_rate, options.key_rate)

        def limit(request: Request) -> None:
            rates.of_address(request.client.host if request.client else None)

        pages = create_pages(
            registry,
            limit,
            self._health.alive,
            self._health.trouble,
            lambda: self._taking.of_parts(),
            self._counts.refuse,
            options.origins,
        )
        app = Gateway(self._surveys, self._keys, rates, self._counts, pages, options.origins)
        tls = {"ssl_certfile": options.certificate, "ssl_keyfile": options.private_key}
        super().__init__(quiet_config(app, Connection, int(STOP_S), **tls))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self._in_thread(self._keys.refresh, self._registry)
        self._upkeep = asyncio.get_running_loop().create_task(self._every_second())
        if self._parent_pipe is not None:
            asyncio.get_running_loop().add_reader(self._parent_pipe, self._parent_is_gone)
        await super().startup(sockets)

    def _parent_is_gone(self) -> None:
        """The pipe broke: end as on SIGTERM."""
        asyncio.get_running_loop().remove_reader(self._parent_pipe or 0)
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        publishing_rest = asyncio.get_running_loop().create_task(self._surveys.finish())
        await super().shutdown(sockets)
        self._upkeep.cancel()
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(publishing_rest, STOP_S)
        with suppress(redis.exceptions.RedisError):
            await self._write_counts()
            await self._in_thread(Heartbeat(self._registry, GATEWAY.name).stop)
        self._executor.shutdown(wait=False)

    async def _every_second(self) -> None:
        """Send heartbeats, refresh keys, resend what Redis lost, ask whether reports are taken, write counts; if Redis
        fails, say so and try again."""
        heartbeat = Heartbeat(self._registry, GATEWAY.name, durable=self._durable)
        last_refresh, last_beat, last_asked = 0.0, -BEAT_S, -ASK_S
        while True:
            self._health.turn()
            self._surveys.tidy()
            now = time.monotonic()
            try:
                if now - last_beat >= BEAT_S:
                    await self._in_thread(heartbeat.beat)
                    last_beat = now
                if now - last_refresh >= REFRESH_S:
                    await self._in_thread(self._keys.refresh, self._registry)
                    last_refresh = now
                self._counts[LOST] += await self._in_thread(self._surveys.resend_lost)
                if now - last_asked >= ASK_S:
                    self._taking = await self._in_thread(taking, self._registry.servers, self._durable)
                    last_asked = now
                await self._write_counts()
                self._say_what_is_taken()
            except redis.exceptions.RedisError as error:
                last_beat = last_asked = -BEAT_S
                self._health.troubled(why(error))
                _LOG.warning(
                    "server trouble, trying again",
                    extra={"error": type(error).__name__, "server": silent(self._registry.servers)},
                )
            await asyncio.sleep(TICK_S)

    def _say_what_is_taken(self) -> None:
        """To /readyz, and in the log."""
        trouble = self._taking.trouble()
        if trouble is None:
            self._health.passed()
        else:
            self._health.troubled(trouble)
        if words := trouble or "".join(self._taking.of_parts()):
            self._warnings.warning(words, servers=", ".join(self._taking.refusing))
        else:
            self._warnings.clear()

    async def _write_counts(self) -> None:
        """Add this process's counts to the totals in Redis, then subtract here what was added."""
        fields = {name: count for name, count in self._counts.items() if count}
        if fields:
            await self._in_thread(self._registry.gateway_counts.add, fields)
            self._counts.subtract(fields)

    async def _in_thread(self, function: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, function, *arguments)


def run(registry: Registry, options: Options, listening: socket.socket, parent_pipe: int | None = None) -> None:
    """Serve until SIGTERM, or until `parent_pipe` breaks: the process at its other end is gone."""
    process = GatewayProcess(registry, options, parent_pipe)
    process.run(sockets=[listening])
