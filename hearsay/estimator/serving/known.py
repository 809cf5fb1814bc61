"""What is known of all surveys without asking for it: what the estimator's loop saw last.

Where no loop runs, or its passes are far apart, the servers are asked.
"""

import time
from collections.abc import Mapping
from typing import NamedTuple

from hearsay.collector.health.loop import Health
from hearsay.collector.health.troubles import Trouble, troubles
from hearsay.collector.sharing import ALL, Share
from hearsay.collector.store.registry import Registry, SurveyLook, look_at_parts
from hearsay.estimator.attention import Attention

FRESH_S = 5.0  # a pass that is older tells nothing about now


class Seen(NamedTuple):
    """A look at each survey, in part where shards do not answer, and why some could not be looked at as a whole."""

    surveys: list[SurveyLook]
    failed: Mapping[str, Exception]


class Known:
    """Asked by metrics, checks of health and the overview."""

    def __init__(
        self, registry: Registry, health: Health, attention: Attention | None = None, share: Share | None = None
    ) -> None:
        self._registry, self._health, self._attention, self._share = registry, health, attention, share

    def seen(self) -> Seen:
        """All surveys, by name. Those that another estimator has are asked for."""
        attention, share = self._attention, self._share
        if attention is None or self._health.trouble() is not None or self._health.since_pass_s() >= FRESH_S:
            failed: dict[str, Exception] = {}
            return Seen(look_at_parts(self._registry.list(), failed), failed)
        looks, failed = dict(attention.looks), dict(attention.failed)
        if share is not None and not share.alone:
            others = [each for each in self._registry.list() if not share.is_mine(each.survey.name)]
            looks |= {each.survey.name: each for each in look_at_parts(others, failed)}
        return Seen([looks[name] for name in sorted(looks)], failed)

    def recent(self, name: str, age_s: float) -> SurveyLook | None:
        """What the loop saw of a survey, where that is at most `age_s` old."""
        seen = None if self._attention is None else self._attention.looks.get(name)
        return seen if seen is not None and time.monotonic() - seen.asked_at <= age_s else None

    def own(self) -> Seen:
        """The surveys that this estimator has."""
        if self._share is None or self._share.alone:
            return self.seen()
        seen, mine = self.seen(), self._share.is_mine
        return Seen([each for each in seen.surveys if mine(each.survey.name)], seen.failed)

    def has_all(self) -> bool:
        """Whether this estimator tells what concerns no survey."""
        return self._share is None or self._share.is_mine(ALL)

    def troubles(self) -> list[Trouble]:
        """What keeps reports from becoming answers."""
        seen = self.seen()
        return troubles(self._registry, seen.surveys, seen.failed)
