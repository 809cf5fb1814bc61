"""`hearsay survey skip`: it asks before it gives reports up, and `status` says what became of them."""

import io
import json
import sys
from collections.abc import Callable

import pytest

from hearsay.collector.store.connect import Client
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.collector.writer import Writer
from hearsay.mechanisms.exact.randomness import seeded

Hearsay = Callable[..., tuple[int, str, str]]
AGES = {"name": "ages", "mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 8}}
BACKLOG = ("survey", "skip", "ages", "--backlog")


def test_skipping_asks_and_status_says_what_was_skipped(
    hearsay: Hearsay, client: Client, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered = Registry(client, prefix).add(parse(AGES))
    mechanism = registered.survey.mechanism
    frames = [codec(mechanism).encode_frame(mechanism.perturb([1, 2, 3], seeded(number))) for number in range(4)]
    Writer(registered.shards[0]).publish([(b"f", frame) for frame in frames], 12)
    for typed, expected, hint in (("n\n", 130, ""), ("", 2, "there is no terminal to ask: give --yes")):
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        code, out, err = hearsay(*BACKLOG, "--json")
        assert (code, out) == (expected, "")
        assert "Give up 4 entries of survey ages for good, with all reports in them?" in err
        assert hint in err
    assert registered.look().waiting_reports == 12
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert hearsay(*BACKLOG)[0] == 0
    shown = hearsay("status", "ages", "--interval", "0")[1]
    assert "  rejected   skipped: 4 entries given up by `survey skip`" in shown
    assert "             12 published reports in such entries: never read, and not folded" in shown
    assert "4 entries skipped" in hearsay("status", "--interval", "0")[1]


def test_nothing_to_skip_is_not_asked_about_and_yes_answers(hearsay: Hearsay, client: Client, prefix: str) -> None:
    registered = Registry(client, prefix).add(parse(AGES))
    assert hearsay("survey", "skip", "ages") == (0, "survey ages: 0 ranges skipped, 0 entries skipped\n", "")
    mechanism = registered.survey.mechanism
    single = next(iter(codec(mechanism).encode_singles(mechanism.perturb([1], seeded(1)))))
    Writer(registered.shards[0]).publish([(b"r", single)], 1)
    assert json.loads(hearsay(*BACKLOG, "--yes", "--json")[1]) == {"entries skipped": 1}
    assert "1 entry skipped" in hearsay("status", "--interval", "0")[1]
