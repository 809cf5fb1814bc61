"""What a test does with a device in a page."""

import json
from typing import Any

from tests.browser.chromium import Tab
from tests.collector.gateway.running import Sender

MINUTES = {
    "name": "minutes",
    "mechanism": "haar",
    "epsilon": 1.0,
    "domain": {"kind": "ordinal", "size": 60},
    "window": {"every": "30d"},
    "participation": {"repeat": "every-window", "lifetime_epsilon": 1.5},
}


def start(tab: Tab, sender: Sender) -> None:
    """An address of the gateway's own origin, and its module."""
    tab.call("Page.navigate", url=f"{str(sender.base_url).rstrip('/')}/v1/openapi.json")
    tab.wait("location.pathname === '/v1/openapi.json' && document.readyState === 'complete'")
    tab.run("import('/v1/device.js').then((loaded) => { globalThis.hearsay = loaded; })")


def opened(tab: Tab, name: str, **options: Any) -> Any:
    """Open a device as `device` of the page; the error's class and text where that is refused."""
    return tab.run(
        f"hearsay.Device.open(location.origin, {json.dumps(name)}, {json.dumps(options)})"
        ".then((made) => { globalThis.device = made; return 'opened'; },"
        " (error) => `${error.constructor.name}: ${error.message}`)"
    )


def submit(tab: Tab, value: Any) -> Any:
    return tab.run(f"device.submit({json.dumps(value)}).catch((error) => error.constructor.name)")


def elsewhere(tab: Tab) -> None:
    """From now on `device` takes its gateway for one on another machine."""
    tab.run("device.local = false")


def offline(tab: Tab, away: bool) -> None:
    tab.call("Network.emulateNetworkConditions", offline=away, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    tab.wait(f"navigator.onLine === {json.dumps(not away)}")
