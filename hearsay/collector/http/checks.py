"""The addresses that a supervisor asks: /healthz (alive; if not, restart) and /readyz (ready; if not, wait)."""

from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


def health_routes(
    is_alive: Callable[[], bool], trouble: Callable[[], str | None], of_parts: Callable[[], Sequence[str]] = tuple
) -> list[Route]:
    """The two routes.

    `trouble` says in one line why the process is not ready, None where it is. `of_parts` lists what a process that is
    ready cannot serve all the same, such as one survey among many.
    """

    async def alive(request: Request) -> Response:
        """Answered by the event loop: it waits for no other request."""
        if is_alive():
            return JSONResponse({"status": "alive"})
        return _not("stuck", "the process makes no progress; restart it")

    def ready(request: Request) -> Response:
        words = trouble()
        if words is not None:
            return _not("not ready", words)
        troubles = list(of_parts())
        return JSONResponse({"status": "ready", **({"troubles": troubles} if troubles else {})})

    return [Route("/healthz", alive), Route("/readyz", ready)]


def _not(status: str, error: str) -> Response:
    """Not a problem document: its `status` would be a number, and whoever asks for health reads a word there."""
    return JSONResponse({"status": status, "code": status.replace(" ", "-"), "error": error}, 503)
