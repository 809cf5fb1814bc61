"""Mechanisms without noise are known during these tests, and a registry on the real server."""

import pytest

from hearsay.collector.store.client import Client
from hearsay.collector.store.registry import Registry
from hearsay.workers.context import Context, set_current
from tests.identity import known_to_this_process

__all__ = ["known_to_this_process"]


@pytest.fixture
def registry(client: Client, prefix: str) -> Registry:
    """A registry of the test's own; fold jobs of this process use it."""
    set_current(Context(client, prefix))
    return Registry(client, prefix)
