"""Errors over HTTP: problem documents (RFC 9457) with one stable code each.

A document has `type`, `title`, `status` and `detail` as the standard names them. It also has `code` and `error`, the
line that the command line shows: `{"code": "unknown-survey", "error": "survey 'x' is not registered; ..."}`.
"""

import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from math import ceil
from typing import Any

import redis
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from hearsay.collector import errors
from hearsay.collector.store.condition import why
from hearsay.errors import HearsayError
from hearsay.mechanisms.errors import QueryError

_LOG = logging.getLogger("hearsay.http")
MEDIA_TYPE = "application/problem+json"
TYPE = "urn:hearsay:problem:{code}"
BUG = "internal"  # the code of what nobody expected

# The nearest class counts. What is not among them is a defect of the service or of its data, not of the request.
STATUS: dict[type[HearsayError], HTTPStatus] = {
    QueryError: HTTPStatus.BAD_REQUEST,
    errors.UnknownSurvey: HTTPStatus.NOT_FOUND,
    errors.SurveyClosed: HTTPStatus.GONE,
    errors.RoundClosed: HTTPStatus.GONE,
    errors.ServerError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.PublishRefused: HTTPStatus.SERVICE_UNAVAILABLE,
    HearsayError: HTTPStatus.INTERNAL_SERVER_ERROR,
}
# Codes of refusals that HTTP itself makes, where nobody names a better one.
HTTP_CODES = {
    HTTPStatus.BAD_REQUEST: "malformed",
    HTTPStatus.NOT_FOUND: "not-found",
    HTTPStatus.METHOD_NOT_ALLOWED: "method",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "too-large",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "content-type",
    HTTPStatus.TOO_MANY_REQUESTS: "rate",
    HTTPStatus.SERVICE_UNAVAILABLE: "server",
}


class Problem(HTTPException):
    """A refusal with its own stable code; `retry_after_s` becomes the header Retry-After, in whole seconds."""

    def __init__(
        self,
        status: int,
        code: str,
        error: str,
        *,
        retry_after_s: float | None = None,
        headers: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> None:
        super().__init__(status, error, headers={**(headers or {}), **_retry_after(retry_after_s)})
        self.code, self.fields = code, fields


def problem(
    status: int, code: str, error: str, headers: Mapping[str, str] | None = None, **fields: Any
) -> JSONResponse:
    """A problem document as a response; `fields` are further members."""
    document = {
        "type": TYPE.format(code=code),
        "title": HTTPStatus(status).phrase,
        "status": int(status),
        "detail": error,
        "code": code,
        "error": error,
        **fields,
    }
    return JSONResponse(document, status, headers=headers, media_type=MEDIA_TYPE)


def handlers() -> dict[Any, Callable[[Request, Exception], Response]]:
    """For Starlette's `exception_handlers`: whatever is raised becomes a problem document."""
    return {
        HearsayError: _ours,
        redis.exceptions.RedisError: _server_trouble,
        HTTPException: _http_error,
        Exception: _bug,
    }


def _ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, HearsayError)
    status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        _LOG.error("request failed", extra={"path": request.url.path, "error": type(error).__name__}, exc_info=error)
    return problem(status, error.code, str(error), _retry_after(getattr(error, "retry_after_s", None)))


def _retry_after(seconds: float | None) -> dict[str, str]:
    """The header that says when to try again, in whole seconds and at least one."""
    return {} if seconds is None else {"Retry-After": str(max(1, ceil(seconds)))}


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    code = error.code if isinstance(error, Problem) else HTTP_CODES.get(status, "http")
    fields = error.fields if isinstance(error, Problem) else {}
    return problem(status, code, error.detail, error.headers, **fields)


def _server_trouble(request: Request, error: Exception) -> Response:
    assert isinstance(error, redis.exceptions.RedisError)
    _LOG.warning("server trouble in a request", extra={"path": request.url.path, "error": type(error).__name__})
    return problem(HTTPStatus.SERVICE_UNAVAILABLE, errors.ServerError.CODE, why(error))


def _bug(request: Request, error: Exception) -> Response:
    _LOG.error("request failed", extra={"path": request.url.path, "error": type(error).__name__}, exc_info=error)
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, BUG, "internal error")
