"""One cluster for all tests of this folder, each with a prefix of its own."""

from collections.abc import Iterator

import pytest

from hearsay.collector.store.connect import open_servers
from hearsay.collector.store.registry import Registry
from hearsay.collector.store.servers import plain
from hearsay.workers.context import Context, set_current
from tests.cluster import EmbeddedCluster


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    """Three masters; a test that breaks something repairs it."""
    with EmbeddedCluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def registry(cluster: EmbeddedCluster, prefix: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    monkeypatch.setattr(plain, "REPLY_S", 2.5)  # half of the usual: a frozen node is waited for once
    servers = open_servers(cluster.url)
    set_current(Context(servers, prefix))
    yield Registry(servers, prefix)
    servers.disconnect()
