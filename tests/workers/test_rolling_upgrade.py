"""A deployment is upgraded and taken back process by process under load: exact, nothing put aside, always answering."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import redis

from hearsay.collector.store import state
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.writer import Writer
from hearsay.estimator.readings import live
from hearsay.ops.server.embedded import EmbeddedServer
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

    def replace(self, place: int, release: str) -> None:
        """End one process, in good order, and start one of this release in its place; then look that all goes on."""
        self.end(place)
        words = [sys.executable, "-m", "tests.workers.of_release", release, self.roles[place]]
        process = self.running[place] = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE)
        assert process.stdin is not None
        process.stdin.write(json.dumps(self.settings).encode() + b"\n")
        process.stdin.flush()
        if len(self.running) == len(self.roles):
            self.look()

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
