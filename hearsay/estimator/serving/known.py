"""What is known of all surveys without asking for it: what the estimator's loop saw last.

Where no loop runs, or its passes are far apart, the servers are asked.
"""

from collections.abc import Mapping
from typing import NamedTuple

from hearsay.collector.health.loop import Health
from hearsay.collector.health.troubles import Trouble, troubles
from hearsay.collector.store.registry import Registry, SurveyLook, look_at_parts
from hearsay.estimator.attention import Attention

FRESH_S = 5.0  # a pass that is older tells nothing about now


class Seen(NamedTuple):
    """A look at each survey, in part where shards do not answer, and why some could not be looked at as a whole."""

    surveys: list[SurveyLook]
    failed: Mapping[str, Exception]


class Known:
    """Asked by metrics, checks of health and the overview."""

    def __init__(self, registry: Registry, health: Health, attention: Attention | None = None) -> None:
        self._registry, self._health, self._attention = registry, health, attention

    def seen(self) -> Seen:
        """All surveys, by name."""
        attention = self._attention
        if attention is not None and self._health.trouble() is None and self._health.since_pass_s() < FRESH_S:
            looks = dict(attention.looks)
            return Seen([looks[name] for name in sorted(looks)], dict(attention.failed))
        failed: dict[str, Exception] = {}
        return Seen(look_at_parts(self._registry.list(), failed), failed)

    def troubles(self) -> list[Trouble]:
        """What keeps reports from becoming answers."""
        seen = self.seen()
        return troubles(self._registry, seen.surveys, seen.failed)
