"""For those who have an ingestion service already: append reports that came in by any way to a survey's stream."""

import secrets

from hearsay import open_survey


class Intake:
    """Each call appends a batch exactly once; answer your devices after it returns."""

    def __init__(self, survey: str) -> None:
        self._writer = open_survey(survey).writer()  # the server that HEARSAY_REDIS_URL names, or the embedded one

    def take(self, reports: list[bytes]) -> None:
        """Shuffled, so that the stream does not show the order in which devices came. Workers reject malformed ones."""
        shuffled = secrets.SystemRandom().sample(reports, len(reports))
        self._writer.publish([(b"r", report) for report in shuffled], reports=len(reports))
