"""Errors of the protocol. Every message is one line that names what was wrong."""

from hearsay.errors import HearsayError


class CollectorError(HearsayError):
    """Base of every error that the collector raises."""

    CODE = "collector"


class SurveyError(CollectorError):
    """A survey file that cannot be used: names the field, what is allowed and what was got.

    >>> from hearsay import Survey
    >>> try:
    ...     Survey.of({"name": "likes", "mechanism": "hrr", "epsilon": -1.0, "domain": {"kind": "binary"}})
    ... except SurveyError as error:
    ...     error.code, error.what, error.expected, error.got
    ('survey', 'epsilon', '> 0 and at most 50', '-1.0')
    """

    CODE = "survey"

    def within(self, where: str) -> "SurveyError":
        """The same error, its text beginning with where it was met."""
        return SurveyError(f"{where}: {self}", what=self.what, expected=self.expected, got=self.got)


class UnknownSurvey(CollectorError):
    """No survey of that name is registered."""

    CODE = "unknown-survey"


class SurveyConflict(CollectorError):
    """Another definition already holds the name."""

    CODE = "survey-conflict"


class SurveyClosed(CollectorError):
    """The survey takes no more reports."""

    CODE = "closed"


class RoundClosed(CollectorError):
    """The round `number` takes no more reports; so many `entries`, the last ones, were not stored and are given up."""

    CODE = "round-over"

    def __init__(self, message: str, number: int, entries: int) -> None:
        super().__init__(message)
        self.number, self.entries = number, entries


class PublishRefused(CollectorError):
    """Entries were not stored in time.

    `cause`: backlog, memory, deltas or quarantine (pressure), server, disk, or stopped. The last `entries` ones are not
    stored: publish them again after `retry_after_s` seconds, or give them up. The `unsure` ones before them were sent
    without an answer: the writer settles them at its next call, so do not publish them again.
    """

    CODE = "pressure"
    STOPPED = "stopped"
    _CODES = {"server": "server", "disk": "server", STOPPED: STOPPED}

    def __init__(self, message: str, cause: str, retry_after_s: float | None = None) -> None:
        super().__init__(message, code=self._CODES.get(cause, self.CODE))
        self.cause, self.retry_after_s = cause, retry_after_s
        self.entries, self.unsure = 0, 0


class OfferRefused(CollectorError):
    """A device does not answer this round: another survey's, one answered before, one too many, or no round at all."""

    CODE = "offer-refused"


class Rejected(CollectorError):
    """A malformed entry; `reason` is a stable code and also the metric's label."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, code=reason)
        self.reason = reason


class ServerError(CollectorError):
    """The Redis server cannot be reached or is not set up as the exactly-once rule needs it."""

    CODE = "server"


class TooOld(ServerError):
    """This release cannot read what a newer one has stored."""

    CODE = "too-old"


class ShardsAway(ServerError):
    """Some shards of a survey do not answer: what the others hold is not the whole."""


class ReportsLost(CollectorError):
    """The server forgot reports that the writer no longer holds."""

    CODE = "reports-lost"


class StateError(CollectorError):
    """A stored accumulator or delta is of another layout, damaged, or would overflow."""

    CODE = "state"


class ServeError(CollectorError):
    """Nothing can be served at the address asked for."""

    CODE = "address"
