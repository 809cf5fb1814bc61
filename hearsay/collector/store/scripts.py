"""The Lua scripts: each step of the pipeline is one script, which the server runs atomically."""

from functools import cache
from importlib.resources import files

from hearsay.collector.store.client import Client

NAMES = (
    "publish",
    "leave",
    "cut",
    "commit",
    "stage",
    "merge",
    "trim",
    "reissue",
    "close",
    "round",
    "pressure",
    "purge",
    "show",
    "mark",
    "marks",
    "now",
    "look",
    "bind",
)
# All other scripts must run at maxmemory too: they free memory or, like SHOW, replace a value by one of similar size.
_NOT_WHEN_FULL = ("publish",)
# These also run on a server that refuses writes because it cannot write its log, so that the status can show it.
_READS_ONLY = ("now", "look", "marks")
_FLAGS_SINCE = (7, 0)  # the first Redis version that reads flags from a script's first line (#!lua flags=...)


@cache
def source(name: str, flags: bool) -> str:
    """The text of a script; with `flags` its first line allows it to run at maxmemory, or declares it as read-only."""
    text = files("hearsay.collector.store").joinpath("lua", f"{name}.lua").read_text(encoding="utf-8")
    if not flags or name in _NOT_WHEN_FULL:
        return text
    return f"#!lua flags={'no-writes' if name in _READS_ONLY else 'allow-oom'}\n{text}"


def load(client: Client) -> dict[str, str]:
    """Load all scripts into a server; returns the hash by which EVALSHA calls each."""
    version = client.info("server").get("redis_version", "6.2")
    flags = tuple(int(part) for part in str(version).split(".")[:2]) >= _FLAGS_SINCE
    pipeline = client.pipeline(transaction=False)
    for name in NAMES:
        pipeline.execute_command("SCRIPT LOAD", source(name, flags))
    return {name: _text(sha) for name, sha in zip(NAMES, pipeline.execute(), strict=True)}


def _text(sha: str | bytes) -> str:
    return sha.decode() if isinstance(sha, bytes) else sha
