"""`hearsay.simulate`: simulate a survey from a Python program."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hearsay.collector.survey.survey import Survey
from hearsay.estimator.snapshots.files import write
from hearsay.estimator.snapshots.loading import Snapshot
from hearsay.mechanisms.domains.domain import Values
from hearsay.mechanisms.domains.given import values_of
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.exact.randomness import secure, seeded
from hearsay.ops.simulate import simulation
from hearsay.ops.simulate.comparing import Comparison, compare, truths


@dataclass(frozen=True, repr=False)
class Simulated(Snapshot):
    """A snapshot of simulated devices, whose values are known. Only this object knows them: `out` has none."""

    people: Values = field(default=None, kw_only=False)  # type: ignore[assignment]

    @cached_property
    def _exact(self) -> Estimate:
        return self.survey.mechanism.exact(self.people)

    def truth(self, question: str) -> list[float | None]:
        """What is true of every answer to a question, in the order of `ask`."""
        return truths(question, self.ask(question), self._exact)

    def compare(self, question: str) -> Comparison:
        """Every answer beside the truth: whether its interval holds, and how many standard errors it is off."""
        return Comparison(compare(question, self.estimate(), self._exact, self.survey.postprocess))


def simulate(
    survey: Survey | Mapping[str, Any] | str | Path,
    values: Any,
    *,
    seed: int | None = None,
    out: str | Path | None = None,
) -> Simulated:
    """Run a survey in which each value is one device's; returns the snapshot that an estimator would write.

    `values` are in the domain's own units: what `Device.report` takes, one per device, a mapping of columns, or a frame
    of pandas, polars or arrow, whose columns are taken by name. The reports are drawn from the secure source, or from a
    seed where they must be the same again. `out` also writes the snapshot to a directory.

    >>> people = ["tea"] * 6_000 + ["coffee"] * 4_000
    >>> snapshot = simulate({"name": "likes", "mechanism": "grr", "epsilon": 3.0,
    ...                      "domain": {"kind": "categorical", "categories": ["tea", "coffee"]}}, people, seed=1)
    >>> (tea,) = snapshot.ask("point tea")
    >>> tea.low < 0.6 < tea.high
    True
    """
    survey = Survey.of(survey)
    random = secure() if seed is None else seeded(seed)
    people = values_of(survey.mechanism.domain, values)
    content = simulation.simulate(survey, people, random)
    if out is not None:
        write(out, content)
    return Simulated(content.survey, content.state, content.document(), content.estimate, people)
