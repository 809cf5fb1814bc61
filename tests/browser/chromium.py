"""A headless Chromium, driven over the DevTools protocol with the standard library alone.

`Tab.run` evaluates JavaScript, `Tab.drag` and `Tab.press` are real input events, `Tab.picture` a screenshot. Whatever
the console or the network says is kept: a test asserts that nothing was wrong, and that nothing left the machine.
"""

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)
WAIT_S = 30.0
KEYS = {"ArrowRight": 39, "ArrowLeft": 37, "PageUp": 33, "PageDown": 34, "Tab": 9, "Enter": 13, "Home": 36, "End": 35}


def program() -> str | None:
    """A browser of this machine."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Socket:
    """The few parts of WebSocket (RFC 6455) that the protocol needs: text both ways."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._line = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=WAIT_S)
        key = base64.b64encode(os.urandom(16)).decode()
        head = f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        self._line.sendall(f"{head}Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self._buffer = b""
        while b"\r\n\r\n" not in self._buffer:
            self._buffer += self._line.recv(4096)
        self._buffer = self._buffer.split(b"\r\n\r\n", 1)[1]

    def send(self, text: str) -> None:
        data, mask = text.encode(), os.urandom(4)
        size = len(data)
        if size < 126:
            head = struct.pack("!BB", 0x81, 0x80 | size)
        elif size < 1 << 16:
            head = struct.pack("!BBH", 0x81, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x81, 0x80 | 127, size)
        self._line.sendall(head + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(data)))

    def receive(self) -> str:
        parts = []
        while True:
            first, size = self._take(2)
            size &= 0x7F
            if size == 126:
                (size,) = struct.unpack("!H", self._take(2))
            elif size == 127:
                (size,) = struct.unpack("!Q", self._take(8))
            parts.append(self._take(size))
            if first & 0x80:
                return b"".join(parts).decode()

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            more = self._line.recv(1 << 16)
            if not more:
                raise ConnectionError("the browser closed its connection")
            self._buffer += more
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def close(self) -> None:
        self._line.close()


class Tab:
    """One tab with a page."""

    def __init__(self, url: str) -> None:
        self._socket, self._number = Socket(url), 0
        self.errors: list[str] = []
        self.requests: list[str] = []
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events in between are kept."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.receive())
            if message.get("id") == self._number:
                assert "error" not in message, (method, message["error"])
                return dict(message["result"])
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}")
        elif method == "Runtime.consoleAPICalled" and parameters["type"] == "error":
            self.errors.append(str(parameters["args"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def run(self, script: str) -> Any:
        """The value of an expression; a promise is waited for."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def open(self, url: str) -> None:
        """Go to an address and wait until the page is drawn."""
        self.call("Page.navigate", url=url)
        self.wait("document.querySelector('main[data-ready]') !== null")

    def wait(self, script: str, seconds: float = WAIT_S) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + seconds
        while not self.run(f"Boolean({script})"):
            assert time.monotonic() < deadline, f"not in time: {script}; {self.errors}"
            time.sleep(0.05)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press, move and release the mouse, in the window's pixels."""
        self._mouse("mousePressed", start)
        for step in range(1, 5):
            between = tuple(a + (b - a) * step / 4 for a, b in zip(start, end, strict=True))
            self._mouse("mouseMoved", between)  # type: ignore[arg-type]
        self._mouse("mouseReleased", end)

    def _mouse(self, kind: str, at: tuple[float, float]) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", buttons=1, clickCount=1)

    def press(self, key: str) -> None:
        """One key, as a keyboard sends it."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key])

    def box(self, selector: str) -> tuple[float, float, float, float]:
        """Left, top, width and height of an element, scrolled into view."""
        script = (
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'});"
            "const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()"
        )
        left, top, width, height = self.run(script)
        return left, top, width, height

    def look(self, width: int = 1000, height: int = 1400, dark: bool = False) -> None:
        """The window's size and the person's colour scheme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path: Path) -> None:
        """A screenshot of the whole page."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def answer(self) -> dict[str, str] | None:
        """What the answer asked last says of itself."""
        script = "(() => { const e = document.querySelector('[data-answer]'); return e ? {...e.dataset} : null; })()"
        shown: dict[str, str] | None = self.run(script)
        return shown

    def close(self) -> None:
        self._socket.close()


class Browser:
    """A running browser."""

    def __init__(self, port: int) -> None:
        self._port = port

    def tab(self) -> Tab:
        """A new tab."""
        request = urllib.request.Request(f"http://127.0.0.1:{self._port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=WAIT_S) as response:
            return Tab(json.load(response)["webSocketDebuggerUrl"])


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser with an empty profile, which ends with the block."""
    path = program()
    assert path is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [path, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield Browser(_port(Path(profile)))
        finally:
            process.terminate()
            process.wait(WAIT_S)


def _port(profile: Path) -> int:
    """The port that the browser chose."""
    deadline = time.monotonic() + WAIT_S
    while True:
        chosen = profile / "DevToolsActivePort"
        if chosen.exists() and (lines := chosen.read_text().splitlines()):
            return int(lines[0])
        assert time.monotonic() < deadline, "the browser did not start"
        time.sleep(0.05)
