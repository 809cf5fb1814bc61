"""A browser with a tab, and an estimator with one survey of every kind on the real server."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import load
from hearsay.ops.demo.scene import SURVEYS
from tests.browser.chromium import Browser, Tab, browser
from tests.estimator.conftest import registry
from tests.estimator.running import estimator
from tests.estimator.surveys import deliver_values

__all__ = ["registry"]
CHARTS = {
    "session-minutes": {"histogram", "cdf"},
    "meeting-place": {"map"},
    "home-town": {"bars"},
    "daily-habits": {"tree", "table"},
    "film-stars": {"keys"},
    "sleep-hours": {"table"},
    "doctor-visits": {"histogram", "cdf", "table"},
}
EXAMPLES = tuple(CHARTS)


@pytest.fixture(scope="module")
def running() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture
def tab(running: Browser) -> Iterator[Tab]:
    opened = running.tab()
    opened.look()
    yield opened
    opened.close()


@pytest.fixture
def address(registry: Registry, tmp_path: Path) -> Iterator[str]:
    """An estimator with one survey of every kind."""
    for name in EXAMPLES:
        survey = load(SURVEYS / f"{name}.toml")
        domain = survey.mechanism.domain
        people = domain.simulated(domain.shapes()[0], 20_000, np.random.default_rng(1))
        deliver_values(registry.add(survey), people)
    with estimator(registry, tmp_path) as http:
        yield str(http.base_url).rstrip("/") + "/"
