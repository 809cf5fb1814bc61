"""The ceiling of the gateway: an application that gives the body back, on the same server and event loop."""

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hearsay.collector.gateway.service import Connection
from hearsay.collector.http.server import listen


async def echo(request: Request) -> Response:
    """The same bytes."""
    return Response(await request.body(), 202, media_type="application/octet-stream")


def serve(port: int) -> None:
    """Until SIGTERM."""
    app = Starlette(routes=[Route("/v1/surveys/{name}/reports", echo, methods=["POST"])])
    config = uvicorn.Config(
        app, http=Connection, log_config=None, log_level="warning", access_log=False, lifespan="off"
    )
    with listen("127.0.0.1", port) as listening:
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    serve(int(sys.argv[1]))
