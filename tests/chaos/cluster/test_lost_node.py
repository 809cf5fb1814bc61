"""One of three masters is killed or frozen under load: the other shards keep their rate. Over the real processes."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearsay.collector.errors import PublishRefused
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.store.shard import Shard
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.ops import cli
from hearsay.ops.server.embedded import EmbeddedServer
from hearsay.ops.server.processes import Pipeline
from hearsay.producer.device import Device
from tests.cluster import EmbeddedCluster, frozen, killed, until

SHARDS, OVER_S, KEPT = 6, 10.0, 0.8
PER_S = 20  # batches that each shard is sent
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def pipeline(
    cluster: EmbeddedCluster, server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pipeline]:
    directory = tmp_path_factory.mktemp("pipeline")
    with Pipeline(directory, estimator=True, redis_url=cluster.url, queue_url=server.url, workers=2) as running:
        yield running


@pytest.fixture
def registered(pipeline: Pipeline, request: pytest.FixtureRequest) -> Iterator[tuple[Registry, Registered]]:
    registry, name = pipeline.registry(), f"load-{abs(hash(request.node.name)) % 10_000}"
    domain = {"kind": "categorical", "size": 8}
    yield registry, registry.add(parse({"name": name, "mechanism": "hrr", "epsilon": 1.0, "domain": domain}), SHARDS)
    registry.delete(name)
    registry.servers.disconnect()


def send(shard: Shard, report: bytes, stop: threading.Event) -> None:
    """A batch of 100 reports, so many times a second, for as long as the shard takes them."""
    writer, due = Writer(shard, stop=stop), time.monotonic()
    while not stop.is_set():
        try:
            writer.publish([(b"r", report)] * 100, 100)
        except PublishRefused:
            return
        due += 1 / PER_S
        stop.wait(max(due - time.monotonic(), 0))


def rate(shards: list[Shard]) -> float:
    """Reports a second that are folded in these shards."""
    before, started = [shard.look().totals.folded for shard in shards], time.monotonic()
    time.sleep(OVER_S)
    after = [shard.look().totals.folded for shard in shards]
    return (sum(after) - sum(before)) / (time.monotonic() - started)


@pytest.mark.parametrize("fault", [killed, frozen])
@pytest.mark.parametrize("which", ["a node", "the registry's"])
def test_the_other_shards_keep_their_rate(
    pipeline: Pipeline,
    cluster: EmbeddedCluster,
    registered: tuple[Registry, Registered],
    fault: type,
    which: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    registry, survey = registered
    nodes = {f"127.0.0.1:{node.port}": node for node in cluster.masters}
    others = [shard.node.address for shard in survey.shards if shard.node is not registry.node]
    address = registry.node.address if which == "the registry's" else others[0]
    healthy = [shard for shard in survey.shards if shard.node.address != address]
    stop, report = threading.Event(), Device(survey.survey).report(3)
    threads = [threading.Thread(target=send, args=(shard, report, stop)) for shard in survey.shards]
    for thread in threads:
        thread.start()
    try:
        time.sleep(3)
        well = rate(healthy)
        with fault(nodes[address]):
            without = rate(healthy)
            status = ["status", "--interval", "0", "--redis-url", cluster.url]
            assert cli.run(status) == 0
            assert f"node {address} does not answer" in capsys.readouterr().out
        print(f"{which} {fault.__name__}: {without:,.0f} of {well:,.0f} reports/s on the other nodes")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    until(lambda: all(cluster.sees_all_well(node) for node in cluster.masters))
    assert without >= KEPT * well
