"""Errors of the protocol. Every message is one line that names what was wrong."""


class CollectorError(Exception):
    """Base of every error that the collector raises."""


class SurveyError(CollectorError):
    """A survey file that cannot be used: names the field, what is allowed and what was got."""


class UnknownSurvey(CollectorError):
    """No survey of that name is registered."""


class SurveyConflict(CollectorError):
    """Another definition already holds the name."""


class SurveyClosed(CollectorError):
    """The survey takes no more reports."""


class RoundClosed(CollectorError):
    """The round `number` takes no more reports; so many `entries`, the last ones, were not stored and are given up."""

    def __init__(self, message: str, number: int, entries: int) -> None:
        super().__init__(message)
        self.number, self.entries = number, entries


class OfferRefused(CollectorError):
    """A device does not answer this round: another survey's, one answered before, one too many, or no round at all."""


class Rejected(CollectorError):
    """A malformed entry; `reason` is a stable code and also the metric's label."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ServerError(CollectorError):
    """The Redis server cannot be reached or is not set up as the exactly-once rule needs it."""


class ReportsLost(CollectorError):
    """The server forgot reports that the writer no longer holds."""


class StateError(CollectorError):
    """A stored accumulator or delta is of another layout, damaged, or would overflow."""


class ServeError(CollectorError):
    """Nothing can be served at the address asked for."""
