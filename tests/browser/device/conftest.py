"""A tab of its own for each test, and surveys of three kinds."""

from collections.abc import Iterator

import pytest
import redis

from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import parse
from tests.browser.chromium import Browser, Tab
from tests.browser.device.page import MINUTES


@pytest.fixture
def tab(running: Browser) -> Iterator[Tab]:
    opened = running.tab()
    yield opened
    opened.close()


@pytest.fixture
def surveys(client: redis.Redis, prefix: str) -> dict[str, Registered]:
    registry = Registry(client, prefix)
    once = {
        "name": "likes",
        "mechanism": "grr",
        "epsilon": 2.0,
        "domain": {"kind": "categorical", "categories": ["a", "b"]},
    }
    rounds = {"name": "pairs", "mechanism": "privkv", "epsilon": 2.0, "domain": {"kind": "key-value", "keys": 4}}
    return {str(table["name"]): registry.add(parse(table)) for table in (MINUTES, once, rounds)}
