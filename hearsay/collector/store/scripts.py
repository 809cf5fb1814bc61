"""The Lua scripts that make every step of the pipeline one indivisible act of the server."""

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
# At maxmemory all of these must still run: they drain the server and free memory, or, like SHOW, put a little in the
# place of as much. Only what takes more in must not.
_NOT_WHEN_FULL = ("publish",)
_READS_ONLY = (
    "now",
    "look",
    "marks",
)  # also runs on a server that cannot write its log: somebody must be able to say so
_SHEBANG_SINCE = (7, 0)


@cache
def source(name: str, shebang: bool) -> str:
    """A script's text, with the flag that lets it run at maxmemory where the server knows such flags."""
    text = files("hearsay.collector.store").joinpath("lua", f"{name}.lua").read_text(encoding="utf-8")
    if not shebang or name in _NOT_WHEN_FULL:
        return text
    return f"#!lua flags={'no-writes' if name in _READS_ONLY else 'allow-oom'}\n{text}"


def load(client: Client) -> dict[str, str]:
    """Hand all scripts to a server; answers by which hash it knows each."""
    version = client.info("server").get("redis_version", "6.2")
    shebang = tuple(int(part) for part in str(version).split(".")[:2]) >= _SHEBANG_SINCE
    pipeline = client.pipeline(transaction=False)
    for name in NAMES:
        pipeline.execute_command("SCRIPT LOAD", source(name, shebang))
    return {name: _text(sha) for name, sha in zip(NAMES, pipeline.execute(), strict=True)}


def _text(sha: str | bytes) -> str:
    return sha.decode() if isinstance(sha, bytes) else sha
