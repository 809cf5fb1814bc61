"""Errors of the protocol. Every message is one line that names what was wrong."""

from hearsay.errors import HearsayError


class CollectorError(HearsayError):
    """Base of every error that the collector raises."""

    CODE = "collector"


class SurveyError(CollectorError):
    """A survey file that cannot be used; `what` is the field, `expected` what is allowed, `got` what it has.

    >>> from hearsay import Survey
    >>> try:
    ...     Survey.of({"name": "likes", "mechanism": "hrr", "epsilon": -1.0, "domain": {"kind": "binary"}})
    ... except SurveyError as error:
    ...     error.code, error.what, error.expected, error.got
    ('survey', 'epsilon', '> 0 and at most 50', '-1.0')
    """

    CODE = "survey"

    def within(self, where: str) -> "SurveyError":
        """The same error; its text begins with `where`, such as the name of a file."""
        return SurveyError(f"{where}: {self}", **self.fields)


class NotAllowed(CollectorError, ValueError):
    """A text or number that is not allowed; who knows where it was given raises it again, with that before it."""

    CODE = "not-allowed"


class UnknownSurvey(CollectorError):
    """No survey of that name is registered."""

    CODE = "unknown-survey"


class SurveyConflict(CollectorError):
    """A survey with this name and another definition is already registered."""

    CODE = "survey-conflict"


class SurveyClosed(CollectorError):
    """The survey takes no more reports."""

    CODE = "closed"


class RoundClosed(CollectorError):
    """The round `number` takes no more reports: the last `entries` entries were not stored, and never will be."""

    CODE = "round-over"

    def __init__(self, message: str, number: int, entries: int) -> None:
        super().__init__(message)
        self.number, self.entries = number, entries


class PublishRefused(CollectorError):
    """Entries were not stored in time.

    `cause` is `backlog`, `memory`, `deltas` or `quarantine` (back-pressure), `server`, `disk` or `stopped`. The last
    `entries` entries are not stored: publish them again after `retry_after_s` seconds, or give them up. The `unsure`
    entries before them were sent, but no answer came. Do not publish those again: the writer's next call does, and the
    server stores them once.
    """

    CODE = "pressure"
    STOPPED, AWAY = "stopped", "server"
    _CODES = {AWAY: "server", "disk": "server", STOPPED: STOPPED}

    def __init__(self, message: str, cause: str, retry_after_s: float | None = None) -> None:
        super().__init__(message, code=self._CODES.get(cause, self.CODE))
        self.cause, self.retry_after_s = cause, retry_after_s
        self.entries, self.unsure = 0, 0


class OfferRefused(CollectorError):
    """A device refuses to answer a round: malformed, of another survey, answered before, or one too many."""

    CODE = "offer-refused"


class Rejected(CollectorError):
    """A malformed entry; `reason` is a stable code and also the metric's label."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, code=reason)
        self.reason = reason


class ServerError(CollectorError):
    """The Redis server cannot be reached, or lacks a setting without which reports could be lost or counted twice."""

    CODE = "server"


class WrongURL(ServerError):
    """The URL is none of a server."""


class StillLoading(ServerError):
    """The server answers, and reads its files before it takes commands."""


class LoginRefused(ServerError):
    """The server refuses the user or password, or asks for a password and got none."""


class TooOld(ServerError):
    """This release cannot read what a newer one has stored."""

    CODE = "too-old"


class NoQueueThere(ServerError):
    """RQ cannot run on the server that `queue-url` names, nor ever will."""


class MissingRight(ServerError):
    """The server's user may not do what the role needs."""

    CODE = "right"


class ShardsAway(ServerError):
    """Some shards of a survey do not answer, so that its sums are not complete."""


class ReportsLost(CollectorError):
    """Reports are missing on the server, or may be, and the writer cannot send them again: no copy, or too late."""

    CODE = "reports-lost"


class StateError(CollectorError):
    """A stored accumulator or delta is of another layout, damaged, or would overflow."""

    CODE = "state"


class ServeError(CollectorError):
    """An HTTP server cannot listen at the address asked for, or did not start."""

    CODE = "address"
