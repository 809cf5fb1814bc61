"""What tests of every folder share: one real embedded server per test process, and a clean client per test."""

import logging
import os
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import hypothesis
import pytest
import redis

from hearsay.collector.store import scripts
from hearsay.ops.server.embedded import EmbeddedServer
from tests.cluster import ON_CLUSTER, QUEUE_URL, EmbeddedCluster
from tests.not_on_a_cluster import why_not_on_a_cluster

# The same examples every time, and no deadline: a busy machine is not a bug.
hypothesis.settings.register_profile("hearsay", deadline=None, derandomize=True)
hypothesis.settings.load_profile("hearsay")

_NUMBERS = count(1)
SERVERS = {"server", "own_server"}  # fixtures that stand for one
LINKS = {"collector", "estimator", "mechanisms", "ops", "producer", "workers"}  # at the top, for people only


@pytest.fixture(scope="session", autouse=True)
def _one_namespace() -> Iterator[None]:
    """A module that comes in by a link exists twice: two classes of one name, two tables of mechanisms."""
    yield
    assert LINKS & set(sys.modules) == set(), "import these by hearsay.<name>"


@pytest.fixture(scope="session", autouse=True)
def _no_outside_settings() -> Iterator[None]:
    """A developer's own HEARSAY_* settings must not change, or be changed by, a test: above all the server's URL."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("HEARSAY_"):
                patch.delenv(name)
        patch.delenv("COLUMNS", raising=False)  # several test processes have one, which tables would follow
        yield


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    """Commands and services set up logging for their process; a test gives it back."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


@pytest.fixture(autouse=True)
def _restore_scripts() -> Iterator[None]:
    """A storm without libfaketime turns the clock of this process's scripts; the tests after it get the true one."""
    original = scripts.source
    yield
    scripts.source = original


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer | EmbeddedCluster]:
    """A real server on a free port, shared by the tests of this process; a test that kills one starts its own.

    With CLUSTER=1: three masters, and one more server for RQ, which every command finds in the environment.
    """
    with EmbeddedServer(tmp_path_factory.mktemp("valkey")) as running:
        if not ON_CLUSTER:
            yield running
            return
        with EmbeddedCluster(tmp_path_factory.mktemp("cluster")) as cluster, pytest.MonkeyPatch.context() as patch:
            patch.setenv(QUEUE_URL, running.url)
            yield cluster


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    """A server of the test's own, to kill and restart."""
    with EmbeddedServer(tmp_path / "valkey") as running:
        yield running


@pytest.fixture
def client(server: EmbeddedServer | EmbeddedCluster) -> Iterator[redis.Redis]:
    """A client of the shared server, emptied before the test."""
    if isinstance(server, EmbeddedCluster):
        server.flush()
        with redis.Redis.from_url(os.environ[QUEUE_URL]) as queue:
            queue.flushall()
        with server.client() as connected_to_all:
            yield connected_to_all  # type: ignore[misc]  # it has the same methods
        return
    with redis.Redis.from_url(server.url) as connected:
        connected.flushall()
        yield connected


@pytest.fixture
def prefix() -> str:
    """A key prefix that no other test has."""
    return f"t{next(_NUMBERS)}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On a cluster: only tests that use a server; some of them cannot be there, each with its reason."""
    if not ON_CLUSTER:
        return
    fixtures = {item: set(getattr(item, "fixturenames", ())) for item in items}
    config.hook.pytest_deselected(items=[item for item in items if not fixtures[item] & SERVERS])
    items[:] = [item for item in items if fixtures[item] & SERVERS]
    for item in items:
        reason = why_not_on_a_cluster(item.nodeid, fixtures[item])
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The table of the fuzzed cases, whose rows come from several processes."""
    from tests.fuzz.tally import table

    calls = [report for found in terminalreporter.stats.values() for report in found if _is_call(report)]
    rows = [row for report in calls for name, row in report.user_properties if name == "fuzz"]
    if rows:
        terminalreporter.write_line("\n".join(table(rows)))


def _is_call(report: object) -> bool:
    """A test's own report; those before and after it say the same again."""
    return isinstance(report, pytest.TestReport) and report.when == "call"
