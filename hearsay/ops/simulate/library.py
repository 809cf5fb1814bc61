"""`hearsay.simulate`: simulate a survey from a Python program."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hearsay.collector.survey.survey import Survey
from hearsay.estimator.snapshots.files import Snapshot, write
from hearsay.mechanisms.domains.domain import Domain, Values
from hearsay.mechanisms.exact.randomness import secure, seeded
from hearsay.ops.simulate import simulation


def simulate(
    survey: Survey | Mapping[str, Any] | str | Path,
    values: Sequence[Any] | Mapping[str, Sequence[Any]],
    *,
    seed: int | None = None,
    out: str | Path | None = None,
) -> Snapshot:
    """Run a survey in which each value is one device's; returns the snapshot that an estimator would write.

    `values` are in the domain's own units: what `Device.report` takes, one per device, or a mapping of columns. The
    reports are drawn from the secure source, or from a seed where they must be the same again. `out` also writes the
    snapshot to a directory.

    >>> people = ["tea"] * 6_000 + ["coffee"] * 4_000
    >>> found = simulate({"name": "likes", "mechanism": "grr", "epsilon": 3.0,
    ...                   "domain": {"kind": "categorical", "categories": ["tea", "coffee"]}}, people, seed=1)
    >>> (tea,) = found.ask("point tea")
    >>> tea.low < 0.6 < tea.high
    True
    """
    survey = Survey.of(survey)
    random = secure() if seed is None else seeded(seed)
    content = simulation.simulate(survey, _values(survey.mechanism.domain, values), random)
    if out is not None:
        write(out, content)
    return Snapshot.of(content)


def _values(domain: Domain, values: Sequence[Any] | Mapping[str, Sequence[Any]]) -> Values:
    if isinstance(values, Mapping):
        return domain.read(values)
    if len(domain.columns) == 1:
        return domain.read({domain.columns[0]: values})
    joined: Values = domain.join([domain.one(value) for value in values])
    return joined
