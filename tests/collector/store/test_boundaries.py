"""The store answers for itself: keys, scripts and raw connections are known inside it only; settings are named once."""

import re
from pathlib import Path

import pytest

from hearsay.collector.store import scripts

HEARSAY = Path(__file__).parents[3] / "hearsay"
STORE = HEARSAY / "collector" / "store"
OUTSIDE = sorted(path for path in HEARSAY.rglob("*.py") if STORE not in path.parents)


def test_no_key_and_no_raw_connection_is_known_outside() -> None:
    used = re.compile(
        r"\b(?:shard|store|shards\[0\]|registry|first)\.(?:client|keys)\b(?! import|\()"  # keys() is of a mapping
        r"|\.eval\(|store\.keys import (?!PREFIX|queue_name)"
    )
    allowed = {
        "collect.py": 1,
        "gateway.py": 2,
    }  # hand a connection to the dispatcher, and ask a server how long it took
    for path in OUTSIDE:
        found = used.findall(path.read_text(encoding="utf-8"))
        assert len(found) <= allowed.get(path.name, 0), f"{path}: {found}"


def test_no_script_stands_outside_its_file() -> None:
    for path in HEARSAY.rglob("*.py"):
        assert "redis.call" not in path.read_text(encoding="utf-8"), path
    assert sorted(path.stem for path in (STORE / "lua").glob("*.lua")) == sorted(scripts.NAMES)


@pytest.mark.parametrize("name", scripts.NAMES)
def test_a_script_names_its_keys_and_arguments_in_its_first_lines(name: str) -> None:
    text = (STORE / "lua" / f"{name}.lua").read_text(encoding="utf-8")
    head, blank, body = text.partition("\n\n")
    assert blank
    assert head.startswith(f"-- {name.upper()}: ")
    assert "KEYS[1]" in head
    # Beyond the named ones only lists are read, by a place that the first lines name too.
    assert re.findall(r"(?:KEYS|ARGV)\[\d+\]", body) == []


def test_settings_are_named_once() -> None:
    for path in HEARSAY.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name not in ("config.py", "setting.py"):
            assert not re.findall(r"""["']HEARSAY_""", text), path
