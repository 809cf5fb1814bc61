"""A planned survey as a commented file that `hearsay validate` and `survey add` accept."""

from hearsay.collector.describe.planned import PlanRow
from hearsay.collector.survey.survey import parse
from hearsay.collector.survey.toml import dump
from hearsay.mechanisms.domains.domain import Domain

DEFAULT_NAME = "planned"


def survey_text(domain: Domain, row: PlanRow, query: str, name: str = DEFAULT_NAME) -> str:
    """The survey of one row, with every choice written out."""
    survey = parse({"name": name, "mechanism": row.mechanism, "epsilon": row.epsilon, "domain": domain.table()})
    width = "unknown" if row.within is None else f"+-{row.within:.4g} ({row.unit})"
    comments = [
        f"Planned for: {query}",
        f"Expected: {width} with {row.users:,} users, shape {row.shape}; nine surveys in ten within {row.within_90:.4g}"
        if row.users is not None and row.within_90 is not None
        else f"Expected: {width}",
        survey.mechanism.guarantee.words(),
    ]
    return "".join(f"# {line}\n" for line in comments) + dump(survey.canonical())
