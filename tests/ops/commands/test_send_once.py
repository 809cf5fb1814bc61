"""A row of a file reports once in a survey: a second run of the same file is refused, one that broke off goes on."""

import gzip
import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from hearsay.collector.errors import PublishRefused
from hearsay.collector.store import api_keys
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.ops.operate import send_once
from hearsay.producer import fleet
from hearsay.producer.errors import ValuesError
from hearsay.producer.sent_files import SentFiles
from hearsay.producer.values.source import open_source
from tests.collector.gateway.running import gateway

Hearsay = Callable[..., tuple[int, str, str]]
AGES = {"name": "ages", "mechanism": "haar", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 64}}
ROWS = 300
FILE = "value\n" + "47\n" * ROWS


@pytest.fixture
def registry(client: redis.Redis, prefix: str) -> Registry:
    registry = Registry(client, prefix)
    registry.add(parse(AGES), shards=2)
    return registry


@pytest.fixture
def produce(hearsay: Hearsay, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hearsay:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(FILE)
    return lambda *words: hearsay("produce", "ages", "--values", "people.csv", "--data-dir", "state", *words)


def published(registry: Registry) -> int:
    return registry.get("ages").look().published_reports


def test_the_same_file_is_refused_and_again_sends_it(produce: Hearsay, registry: Registry, tmp_path: Path) -> None:
    assert produce()[0] == 0
    (tmp_path / "people.csv").rename(tmp_path / "copy.csv")
    (tmp_path / "people.csv").write_text(FILE)
    code, out, err = produce()
    assert (code, out, published(registry)) == (2, "", ROWS)
    assert err.startswith("hearsay: people.csv: 300 rows of it went to survey ages at ")
    ways = "send other values, delete the survey to start anew, or use --again to send all rows again\n"
    assert err.endswith(f"a device reports once; {ways}")
    assert err.count("\n") == 1
    assert produce("--rate", "1e5")[0] == 2
    assert produce("--devices", "100")[0] == 2
    assert published(registry) == ROWS
    assert produce("--again", "--rate", "1e5", "--single", "--p99", "nan")[0] == 2
    assert produce()[0] == 2  # a run that failed before it sent anything leaves the note
    assert produce("--again")[0] == 0
    assert published(registry) == 2 * ROWS


def test_the_same_content_is_refused_whatever_its_line_ends_and_compression(
    produce: Hearsay, registry: Registry, tmp_path: Path
) -> None:
    assert produce()[0] == 0
    plain = FILE.encode()
    returns = plain.replace(b"\n", b"\r\n")
    marked = b"\xef\xbb\xbf" + plain
    for content in (gzip.compress(plain), returns, plain.replace(b"\n", b"\r"), gzip.compress(returns), marked):
        (tmp_path / "people.csv").write_bytes(content)
        assert produce()[0] == 2
    assert published(registry) == ROWS


@pytest.mark.parametrize("size", [1, 2, 3, 4096])
def test_line_ends_may_be_cut_in_two_by_the_reading(size: int, tmp_path: Path) -> None:
    path, parts = tmp_path / "people.csv", list[bytes]()
    path.write_bytes(b"\xef\xbb\xbfvalue\r\n1\r\r\n2\r\n\n3\r")
    with open_source(path, parts.append) as source:
        while source.stream.read(size):
            pass
    assert b"".join(parts) == b"value\n1\n\n2\n\n3\n"


def test_other_values_another_survey_and_one_that_was_deleted_are_welcome(
    produce: Hearsay, registry: Registry, tmp_path: Path
) -> None:
    assert produce()[0] == 0
    (tmp_path / "people.csv").write_text(FILE + "5\n")
    assert produce()[0] == 0
    assert published(registry) == 2 * ROWS + 1
    registry.delete("ages")
    registry.add(parse(AGES))
    assert produce()[0] == 0
    assert published(registry) == ROWS + 1


def test_a_new_window_takes_the_file_again(
    produce: Hearsay, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.delete("ages")
    registry.add(parse({**AGES, "window": {"every": "1d"}}))
    assert produce()[0] == 0
    assert "wait for the next window, " in produce()[2]
    today = send_once._window
    monkeypatch.setattr(send_once, "_window", lambda survey, now_ms: today(survey, now_ms + 86_400_000))
    assert produce()[0] == 0
    assert published(registry) == 2 * ROWS


def test_a_run_that_was_stopped_goes_on_with_the_next_row(
    produce: Hearsay, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "BATCH_REPORTS", 20)
    take = fleet.Fleet._publish
    taken = 0

    def interrupted(self: fleet.Fleet, values: object) -> None:
        nonlocal taken
        take(self, values)  # type: ignore[arg-type]
        taken += 1
        if taken == 3:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(fleet.Fleet, "_publish", interrupted)
    code, out, _ = produce()
    assert code == 130
    assert "120 reports published to ages" in out
    assert "(stopped; 300 devices were asked for; the same command sends the others)" in out
    code, out, err = produce()
    assert code == 0
    assert "people.csv: 120 rows went out before; going on with the next" in err
    assert "180 reports published" in out
    assert published(registry) == ROWS
    assert produce()[0] == 2


def test_a_rate_that_was_stopped_goes_on_too(produce: Hearsay, registry: Registry) -> None:
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    code, out, _ = produce("--rate", "100")
    assert code == 130
    assert "(stopped; 300 devices were asked for; the same command sends the others)" in out
    went = published(registry)
    assert 0 < went < ROWS
    code, _, err = produce("--rate", "1e5")
    assert code == 0
    assert f"people.csv: {went} rows went out before" in err
    assert published(registry) == ROWS
    assert "300 rows of it went" in produce()[2]


def test_a_batch_that_may_have_gone_out_is_not_sent_again_but_one_that_did_not_is(
    produce: Hearsay, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Writer, *given: object) -> None:
        raise PublishRefused("not allowed", "rights")

    with monkeypatch.context() as patch:
        patch.setattr(Writer, "send", refused)
        assert produce()[0] != 0
    assert produce()[0] == 0  # the server's count says that nothing came in
    assert published(registry) == ROWS
    monkeypatch.setattr(fleet, "BATCH_REPORTS", 50)
    dealt = fleet.Fleet._dealt

    def killed(self: fleet.Fleet, values: object) -> object:
        first, _second = dealt(self, values)  # type: ignore[arg-type]
        yield first
        raise PublishRefused("not allowed", "rights")

    with monkeypatch.context() as patch:
        patch.setattr(fleet.Fleet, "_dealt", killed)
        assert produce("--again")[0] != 0
    assert published(registry) == ROWS + 50  # of a batch of 100
    assert "100 rows went out before, of the last 50 it is not known; going on" in produce()[2]
    assert published(registry) == ROWS + 50 + 200


def test_notes_hold_no_value_and_only_their_user_reads_them(produce: Hearsay, tmp_path: Path) -> None:
    assert produce()[0] == 0
    folder = tmp_path / "state" / "sent"
    (note,) = [path for path in folder.iterdir() if path.name != "key"]
    assert folder.stat().st_mode & 0o077 == 0
    assert {path.stat().st_mode & 0o077 for path in folder.iterdir()} == {0}
    assert set(json.loads(note.read_text())) == {"rows", "sent", "tried", "before", "at", "survey", "earlier"}
    other = SentFiles(tmp_path / "other").hasher()
    mine = SentFiles(folder).hasher()
    for hasher in (other, mine):
        hasher.update(FILE.encode())
    assert other.hexdigest() != mine.hexdigest()  # whoever has no key cannot try a guess


def test_what_cannot_be_noted_is_said(produce: Hearsay, registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file, not a folder")
    code, _, err = produce()
    assert code == 0
    assert "sending the same file twice will not be noticed" in err
    assert published(registry) == ROWS


def test_only_one_process_sends_a_file(tmp_path: Path) -> None:
    files = SentFiles(tmp_path / "sent")
    content = files.hasher()
    first = files.open(content, "ages")
    with pytest.raises(ValuesError, match="being sent by another process"):
        files.open(content, "ages")
    files.open(content, "other").close()
    first.close()
    files.open(content, "ages").close()
    assert [path.name for path in (tmp_path / "sent").iterdir()] == ["key"]  # notes on nothing are not kept


def test_simulated_devices_need_no_note(hearsay: Hearsay, registry: Registry, tmp_path: Path) -> None:
    words = ("produce", "ages", "--devices", "10", "--data-dir", str(tmp_path / "state"))
    assert [hearsay(*words)[0] for _ in range(2)] == [0, 0]
    assert not (tmp_path / "state" / "sent").exists()
    assert "--again goes with --values" in hearsay(*words, "--again")[2]


def test_drawn_values_do_not_mix_with_the_rows_of_a_file(
    produce: Hearsay, hearsay: Hearsay, registry: Registry, client: redis.Redis, prefix: str
) -> None:
    drawn = ("produce", "ages", "--devices", "10", "--data-dir", "state")
    assert produce()[0] == 0
    refusal = "survey ages has rows of a file (300 at most), and simulated values cannot be taken out again"
    with gateway(client, prefix) as sender:
        for more in ((), ("--replay",), ("--rate", "1e5"), ("--via", str(sender.base_url))):
            code, _, err = hearsay(*drawn, *more)
            assert (code, err) == (2, f"hearsay: {refusal}; use another survey, or --into-real\n")
    assert published(registry) == ROWS
    assert hearsay(*drawn, "--into-real")[0] == 0
    assert published(registry) == ROWS + 10
    registry.delete("ages")
    registry.add(parse(AGES))
    assert hearsay(*drawn)[0] == 0, "another survey of the same name"


def test_a_file_into_drawn_values_says_how_many_there_are(
    produce: Hearsay, hearsay: Hearsay, registry: Registry, tmp_path: Path
) -> None:
    assert hearsay("produce", "ages", "--devices", "10", "--data-dir", "state")[0] == 0
    mixes = "the rows of people.csv mix with them"
    assert f"survey ages already has 10 simulated reports; {mixes}" in produce()[2]
    assert f"survey ages already has 310 simulated reports, 300 of them rows of files; {mixes}" in produce("--again")[2]
    (tmp_path / "people.csv").write_text(FILE + "5\n")
    assert f"610 simulated reports, 600 of them rows of files; {mixes}" in produce()[2]


def test_a_file_after_another_file_mixes_with_nothing(produce: Hearsay, tmp_path: Path) -> None:
    assert "simulated" not in produce()[2]
    assert "simulated" not in produce("--again")[2]
    (tmp_path / "people.csv").write_text(FILE + "5\n")
    assert "simulated" not in produce()[2]


def test_a_file_that_went_through_a_gateway_is_known_on_every_road(
    produce: Hearsay, registry: Registry, client: redis.Redis, prefix: str
) -> None:
    with gateway(client, prefix) as sender:
        url = str(sender.base_url)
        assert produce("--via", url)[0] == 0
        assert "300 rows of it went to survey ages" in produce("--via", url)[2]
        assert "300 rows of it went to survey ages" in produce()[2]
        assert published(registry) == ROWS
        assert produce("--via", url, "--again")[0] == 0
        assert published(registry) == 2 * ROWS


def test_a_file_that_a_gateway_refused_may_be_sent_again(
    produce: Hearsay, registry: Registry, client: redis.Redis, prefix: str
) -> None:
    api_keys.add(registry, "somebody")
    with gateway(client, prefix, keys=True) as sender:
        url = str(sender.base_url)
        assert "refused 3 requests: key 3" in produce("--via", url)[2]
        assert "refused 3 requests: key 3" in produce("--via", url)[2]
    assert published(registry) == 0
