"""A deployment is upgraded and taken back process by process under load: exact, nothing put aside, always answering."""

import io
import json
import os
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import pytest
import redis

from hearsay.collector.store import state
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.writer import Writer
from hearsay.estimator.readings import live
from hearsay.ops.server.embedded import EmbeddedServer, free_port
from tests.pipeline import buckets, singles, state_of
from tests.workers.of_release import apply_later
from tests.workers.test_worker import ROOT, queue_url, wait_for

SIZE = 60_000
ROLES = ("collector", "worker", "worker", "estimator")
ONE_EACH = ("collector", "worker", "estimator")


class Sender(threading.Thread):
    """Publishes one value after the other, 20 at a time."""

    def __init__(self, registered: Registered) -> None:
        super().__init__()
        self._registered, self.sent, self.stop = registered, 0, threading.Event()

    def run(self) -> None:
        shard = self._registered.shards[0]
        writer = Writer(shard)
        while not self.stop.wait(0.02) and self.sent < SIZE:
            writer.publish(singles(shard, range(self.sent, self.sent + 20)), 20)
            self.sent += 20


class Deployment:
    """Some processes, each of some release."""

    def __init__(
        self, server: EmbeddedServer, client: redis.Redis, prefix: str, snapshots: Path, roles: tuple[str, ...] = ROLES
    ) -> None:
        self.roles = roles
        servers = {"url": server.url, "queue_url": queue_url(server)}
        self.settings = {**servers, "prefix": prefix, "snapshots": str(snapshots), "hold": False}
        self.registered = buckets(client, prefix, SIZE, answers={"minimum_reports": 1})
        self.registry = Registry(client, prefix)
        self.running: dict[int, subprocess.Popen[bytes]] = {}

    def replace(self, place: int, release: str | Path) -> None:
        """End one process, in good order, and start one of this release in its place; then look that all goes on."""
        self.end(place)
        role = self.roles[place]
        process = self.running[place] = (
            self._real(release, role) if isinstance(release, Path) else self._of(release, role)
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(self.settings).encode() + b"\n")
        process.stdin.flush()
        if len(self.running) == len(self.roles):
            self.look()

    def _of(self, release: str, role: str) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "tests.workers.of_release", release, role]
        return subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE)

    def _real(self, tree: Path, role: str) -> subprocess.Popen[bytes]:
        """A process of the release whose files these are, with its own command."""
        words = {"collector": ["collect"], "worker": ["work"], "estimator": ["estimate", "--port", str(free_port())]}
        said = {"REDIS_URL": self.settings["url"], "QUEUE_URL": self.settings["queue_url"], "WORKERS": 1,
                "PREFIX": self.settings["prefix"], "PLUGINS": "tests.identity", "PERIOD_S": 0.1,
                "DATA_DIR": self.settings["snapshots"], "LOG_LEVEL": "error"}  # fmt: skip
        settings = {f"HEARSAY_{name}": str(value) for name, value in said.items()}
        return subprocess.Popen(
            [sys.executable, "-m", "hearsay", *words[role]],
            cwd=tree,
            env={**os.environ, **settings, "PYTHONPATH": str(tree)},
            stdin=subprocess.PIPE,
        )

    def look(self) -> None:
        """Both a query and the estimator's snapshot get newer."""
        before, shown = live(self.registered).reports, self.registered.shards[0].snapshot_version("all") or 0
        wait_for(lambda: live(self.registered).reports > before)
        wait_for(lambda: (self.registered.shards[0].snapshot_version("all") or 0) > shown)
        assert self.registry.complaints.all() == ()

    def end(self, place: int) -> None:
        process = self.running.pop(place, None)
        if process is not None:
            process.terminate()
            process.wait(timeout=30)
            assert process.stdin is not None
            process.stdin.close()


@pytest.mark.parametrize(
    ("old", "new", "order", "there_and_back"),
    [
        pytest.param("before", "now", (2, 1, 0), 1, id="before-now-short"),
        *(
            pytest.param(old, new, order, 3, id=f"{old}-{new}-{ROLES[order[0]]}-first", marks=pytest.mark.slow)
            for old, new in (("before", "now"), ("now", "next"))
            for order in ((0, 1, 2, 3), (3, 2, 1, 0))
        ),
    ],
)
def test_rolling_upgrade_and_rollback_are_exact(
    server: EmbeddedServer,
    client: redis.Redis,
    prefix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    old: str,
    new: str,
    order: tuple[int, ...],
    there_and_back: int,
) -> None:
    if new == "next":
        monkeypatch.setattr(state, "_apply", apply_later)  # queries are of the newest release
    deployment = Deployment(server, client, prefix, tmp_path, ONE_EACH if len(order) == len(ONE_EACH) else ROLES)
    shard, sender = deployment.registered.shards[0], Sender(deployment.registered)
    sender.start()
    try:
        for place in order:
            deployment.replace(place, old)
        for place in order[:there_and_back]:
            deployment.replace(place, new)
        for place in reversed(
            order[:there_and_back]
        ):  # one process was of the old release all the time: the way back is open
            deployment.replace(place, old)
        for place in order:
            deployment.replace(place, new)
        sender.stop.set()
        sender.join()
        wait_for(lambda: int(state_of(shard)["hist"].sum()) == sender.sent)
        (seen,) = deployment.registered.look().shards
    finally:
        sender.stop.set()
        sender.join()
        for place in list(deployment.running):
            deployment.end(place)
    hist = state_of(shard)["hist"]
    assert (hist[: sender.sent] == 1).all()
    assert (hist[sender.sent :] == 0).all()
    assert seen.status.quarantined == seen.status.quarantines == 0
    assert sender.sent > 0


def files_of(release: str, folder: Path) -> Path:
    """The files of an earlier release, as the history of this clone has them."""

    def git(*words: str) -> bytes:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True).stdout

    try:
        dated = git("log", "--format=%H", f"-S## {release} ", "--", "CHANGELOG.md").split()
        packed = git("archive", dated[-1].decode())
    except (OSError, subprocess.CalledProcessError, IndexError):
        pytest.skip(f"this is no clone with the history of release {release}")
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        files.extractall(folder, filter="data")
    words, settings = (
        [sys.executable, "-P", "-c", "import hearsay; print(hearsay.__file__)"],
        {"PYTHONPATH": str(folder)},
    )
    found = subprocess.run(words, env={**os.environ, **settings}, capture_output=True, text=True, check=True).stdout
    assert Path(found.strip()).is_relative_to(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0)])
def test_rolling_upgrade_from_the_real_release_and_back(
    server: EmbeddedServer, client: redis.Redis, prefix: str, tmp_path: Path, order: tuple[int, ...]
) -> None:
    """One process is of release 0.2.0 all the time until the last step: up to there the way back is open."""
    old = files_of("0.2.0", tmp_path / "release")
    deployment = Deployment(server, client, prefix, tmp_path)
    shard, sender = deployment.registered.shards[0], Sender(deployment.registered)
    sender.start()
    steps: list[tuple[int, str | Path]] = [(place, old) for place in order]
    steps += [(place, "now") for place in order[:3]]
    steps += [(place, old) for place in order[:3]]
    steps += [(place, "now") for place in order]
    try:
        for place, release in steps:
            deployment.replace(place, release)
        sender.stop.set()
        sender.join()
        wait_for(lambda: int(state_of(shard)["hist"].sum()) == sender.sent)
        assert shard.status().quarantines == 0
    finally:
        sender.stop.set()
        sender.join()
        for place in list(deployment.running):
            deployment.end(place)
    print(f"{sender.sent} reports over {len(steps)} changes")
    assert state_of(shard)["hist"].tolist() == [1] * sender.sent + [0] * (SIZE - sender.sent)


def test_with_layouts_held_a_whole_deployment_goes_back(
    server: EmbeddedServer, client: redis.Redis, prefix: str, tmp_path: Path
) -> None:
    deployment = Deployment(server, client, prefix, tmp_path, ONE_EACH)
    deployment.settings["hold"] = True
    shard, sender = deployment.registered.shards[0], Sender(deployment.registered)
    sender.start()
    try:
        for release in ("now", "before"):
            for place in range(len(ONE_EACH)):
                deployment.replace(place, release)
        sender.stop.set()
        sender.join()
        wait_for(lambda: int(state_of(shard)["hist"].sum()) == sender.sent)
        assert shard.status().quarantines == 0
    finally:
        sender.stop.set()
        sender.join()
        for place in list(deployment.running):
            deployment.end(place)
    assert (state_of(shard)["hist"][: sender.sent] == 1).all()
