"""The page's addresses: one shell of HTML, and the files that it names.

There is no build step and nothing comes from other sites: the browser gets the modules as written. Files are read
once, compressed once, and asked for again with their ETag. Addresses are relative, so that a proxy may put the page
below a path.
"""

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hearsay.collector.http.problems import Problem

TYPES = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "html": "text/html; charset=utf-8",
}
_SHELL = "index.html"


@dataclass(frozen=True)
class Asset:
    """One file: its bytes, plain and compressed, and the ETag that tells its versions apart."""

    plain: bytes
    zipped: bytes
    media_type: str

    @classmethod
    def of(cls, content: bytes, ending: str) -> "Asset":
        return cls(content, gzip.compress(content, mtime=0), TYPES[ending])

    @property
    def tag(self) -> str:
        return f'"{hashlib.sha256(self.plain).hexdigest()[:16]}"'

    def respond(self, request: Request) -> Response:
        """The file, or 304 where the browser has it already."""
        headers = {"ETag": self.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if self.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(self.zipped, headers={**headers, "Content-Encoding": "gzip"}, media_type=self.media_type)
        return Response(self.plain, headers=headers, media_type=self.media_type)


@cache
def assets() -> dict[str, Asset]:
    """Every file that a browser may ask for, by its path below `assets/`."""
    return {path: Asset.of(content, path.rsplit(".", 1)[1]) for path, content in _files() if path != _SHELL}


def _files() -> list[tuple[str, bytes]]:
    def walk(folder: Any, path: str) -> list[tuple[str, bytes]]:
        inside = sorted(folder.iterdir(), key=lambda each: str(each.name))
        files = [(path + each.name, each.read_bytes()) for each in inside if each.is_file()]
        return files + [file for each in inside if each.is_dir() for file in walk(each, f"{path}{each.name}/")]

    return [(path, content) for path, content in walk(_folder(), "") if path.rsplit(".", 1)[-1] in TYPES]


def _folder() -> Any:
    return resources.files(__package__).joinpath("assets")


@cache
def shell(page: str, depth: int, title: str) -> Asset:
    """The document that every address of the page answers with; `depth` folders below the page's root."""
    text = _folder().joinpath(_SHELL).read_text(encoding="utf-8")
    for name, value in {"root": "../" * depth, "home": "../" * depth or "./", "page": page, "title": title}.items():
        text = text.replace(f"{{{name}}}", escape(value))
    return Asset.of(text.encode(), "html")


def page_routes() -> list[Route]:
    """The page's addresses."""

    async def overview(request: Request) -> Response:
        return shell("overview", 0, "hearsay").respond(request)

    async def survey(request: Request) -> Response:
        return shell("survey", 1, "hearsay: survey").respond(request)

    async def plan(request: Request) -> Response:
        return shell("plan", 0, "hearsay: plan").respond(request)

    async def asset(request: Request) -> Response:
        path = request.path_params["path"]
        if path not in assets():
            raise Problem(404, "not-found", f"no file assets/{path}")
        return assets()[path].respond(request)

    return [
        Route("/", overview),
        Route("/plan", plan),
        Route("/surveys/{name}", survey),
        Route("/assets/{path:path}", asset),
    ]
