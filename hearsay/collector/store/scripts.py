"""The Lua scripts that make every step of the pipeline one indivisible act of the server."""

from functools import cache
from importlib.resources import files
from typing import Any

from redis.commands.core import Script

from hearsay.collector.store.connect import Client

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
    "merged",
    "show",
    "now",
)
# At maxmemory all of these must still run: they drain the server and free memory, or, like SHOW, put a little in the
# place of as much. Only what takes more in must not.
_NOT_WHEN_FULL = ("publish",)
_READS_ONLY = ("now",)  # also runs on a server that cannot write its log: somebody must be able to say so
_SHEBANG_SINCE = (7, 0)


@cache
def source(name: str, shebang: bool) -> str:
    """A script's text, with the flag that lets it run at maxmemory where the server knows such flags."""
    text = files("hearsay.collector.store").joinpath("lua", f"{name}.lua").read_text(encoding="utf-8")
    if not shebang or name in _NOT_WHEN_FULL:
        return text
    return f"#!lua flags={'no-writes' if name in _READS_ONLY else 'allow-oom'}\n{text}"


class Scripts:
    """The scripts bound to a client; each is sent once and then called by its hash."""

    def __init__(self, client: Client) -> None:
        version = client.info("server").get("redis_version", "6.2")
        shebang = tuple(int(part) for part in str(version).split(".")[:2]) >= _SHEBANG_SINCE
        self._scripts: dict[str, Script] = {name: client.register_script(source(name, shebang)) for name in NAMES}

    def __call__(self, name: str, keys: list[str], arguments: list[Any]) -> Any:
        return self._scripts[name](keys=keys, args=arguments)
