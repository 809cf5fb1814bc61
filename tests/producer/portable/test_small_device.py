"""`Device` with the standard library and msgpack only: numpy and pydantic are put out of reach."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgpack
import pytest
import redis

from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.producer.errors import FormError
from hearsay.producer.portable.described import Described
from tests.collector.gateway.running import gateway

LIKES: dict[str, Any] = {
    **{"name": "likes", "mechanism": "hrr", "epsilon": 0.5, "window": {"every": "7d", "retain": "30d"}},
    "domain": {"kind": "categorical", "categories": ["tea", "coffee", "milk"]},
}
SMALL = """
import sys
for name in ("numpy", "pydantic", "scipy", "redis", "rq", "click", "starlette"):
    sys.modules[name] = None
from hearsay import BudgetSpent, Device, ValueOutsideDomain
from hearsay.errors import HearsayError
def tried(act):
    try:
        return act()
    except HearsayError as error:
        return f"{error.code}: {error}"
"""
PROGRAM = (
    SMALL
    + """
url, ledger = sys.argv[1:]
device = Device(url, ledger=ledger, max_epsilon=0.6)
print(tried(lambda: device.submit("tea")), tried(lambda: device.submit("milk")), sep="\\n")
print(device.spent(), tried(lambda: device.report("beer")), sep="\\n")
try:
    device.report("beer")
except ValueOutsideDomain:  # which needs no numpy either
    pass
print(tried(lambda: Device(url, max_epsilon=0.1)))
print(device.statement())
"""
)
REPORTS = (
    SMALL
    + """
import json, warnings
warnings.simplefilter("ignore")
device = Device(json.load(sys.stdin))
print(*(device.report("coffee").hex() for _ in range(200)))
"""
)


def run(program: str, *words: str, given: str = "") -> list[str]:
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", program, *words], cwd=root, input=given, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def answer(client: redis.Redis, prefix: str, table: dict[str, Any]) -> dict[str, Any]:
    Registry(client, prefix).add(parse(table))
    with gateway(client, prefix) as sender:
        described: dict[str, Any] = sender.get(f"/v1/surveys/{table['name']}").json()
        return described


def test_a_small_device_sends_keeps_count_and_waits(client: redis.Redis, prefix: str, tmp_path: Path) -> None:
    registered, ledger = Registry(client, prefix).add(parse(LIKES)), str(tmp_path / "ledger")
    with gateway(client, prefix) as sender:
        url = f"{sender.base_url}/v1/surveys/likes"
        sent, again, spent, refused, too_much, statement = run(PROGRAM, url, ledger)
    assert sent == "sent"
    assert again.startswith("budget-spent: window")
    assert float(spent) == 0.5
    assert refused == "value-outside-domain: value must be one of the survey's labels"
    assert too_much.startswith("survey: epsilon must be at most 0.1")
    assert "1 stored" in statement
    assert client.xlen(registered.shards[0].keys.stream) == 1
    away = run(SMALL + "print(tried(lambda: Device(*sys.argv[1:2], ledger=sys.argv[2]).flush()))", url, ledger)
    assert away == ["0"], "known from the ledger while the gateway is away"


def test_a_file_needs_numpy_and_says_so() -> None:
    (line,) = run(SMALL + "print(tried(lambda: Device('ops/surveys/session-minutes.toml')))")
    assert line.startswith("form: without numpy and pydantic a device needs the survey's address on a gateway")


def test_its_reports_are_those_of_the_survey(client: redis.Redis, prefix: str) -> None:
    described = answer(client, prefix, LIKES)
    (line,) = run(REPORTS, given=json.dumps(described))
    mechanism = parse(LIKES).mechanism
    numbers = [msgpack.unpackb(bytes.fromhex(text)) for text in line.split()]
    # K = 4 cells: three vectors and two buckets each.
    assert set(numbers) == set(range(6))
    honest = sum(int(number % 2) == bin((number // 2 + 1) & 1).count("1") % 2 for number in numbers) / len(numbers)
    assert abs(honest - float(mechanism.channel()[1].reshape(3, 2).max(axis=1).sum())) < 6 * (0.25 / 200) ** 0.5


def test_an_answer_whose_parts_do_not_belong_together_is_refused(client: redis.Redis, prefix: str) -> None:
    described = answer(client, prefix, LIKES)
    assert Described.of(described).tag == parse(LIKES).tag
    assert Described.of(described).canonical()["definition"] == described["definition"]
    with pytest.raises(FormError, match="a tag that is not its definition's"):
        Described.of({**described, "definition": {**described["definition"], "epsilon": 0.1}})
    with pytest.raises(FormError, match="no form"):
        Described.of({**described, "device": None, "device_reason": "a survey with rounds"})
    with pytest.raises(FormError, match="damaged"):
        Described.of({**described, "participation": None})
    bold = {**described["device"], "draw": {**described["device"]["draw"], "keep": str((1 << 64) - 1)}}
    assert Described.of({**described, "device": bold}).epsilon > 40, "what the thresholds spend, whatever is said"
