"""A slow link to a server: a proxy on loopback that hands on what clients send some time later, in order.

Much may be on its way at once, as on a real link: only round trips take longer. It runs as a process of its own
(`python -m tests.measures.slow_link HOST PORT DELAY_S`), so that it takes no time from those that are measured.
"""

import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CHUNK = 1 << 16


@contextmanager
def slow_link(port: int, delay_s: float, host: str = "127.0.0.1") -> Iterator[int]:
    """The port of a proxy to a server's port, which adds so much to every round trip."""
    command = [sys.executable, "-m", "tests.measures.slow_link", host, str(port), str(delay_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def _hand_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
    _hang_up(source, target)


def _hand_on_later(source: socket.socket, target: socket.socket, delay_s: float) -> None:
    waiting: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def send() -> None:
        with suppress(OSError):
            while True:
                due, chunk = waiting.get()
                time.sleep(max(0.0, due - time.monotonic()))
                if not chunk:
                    break
                target.sendall(chunk)
        _hang_up(source, target)

    threading.Thread(target=send, daemon=True).start()
    chunk = b"-"
    while chunk:
        try:
            chunk = source.recv(_CHUNK)
        except OSError:
            chunk = b""
        waiting.put((time.monotonic() + delay_s, chunk))


def _hang_up(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def _serve(host: str, port: int, delay_s: float) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)
        while True:
            client, _ = listening.accept()
            server = socket.create_connection((host, port))
            for each in (client, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_hand_on, args=(server, client), daemon=True).start()
            threading.Thread(target=_hand_on_later, args=(client, server, delay_s), daemon=True).start()


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
