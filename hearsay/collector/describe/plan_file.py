"""A planned survey as a commented file that `hearsay validate` and `survey add` accept."""

from typing import Any

from hearsay.collector.describe.planned import PlanRow
from hearsay.collector.survey.survey import Survey, parse
from hearsay.collector.survey.toml import dump
from hearsay.mechanisms.domains.domain import Domain

DEFAULT_NAME = "planned"
MINIMUM_REPORTS = 100  # what a survey should have before it answers; a file that names none answers from the first


def survey_text(source: Survey | Domain, row: PlanRow, query: str, name: str = DEFAULT_NAME) -> str:
    """The survey of one row, with every choice written out; what a given survey settles otherwise is kept."""
    kept = _kept(source, row) if isinstance(source, Survey) else _new(source)
    survey = parse({**kept, "name": name, "mechanism": row.mechanism, "epsilon": row.epsilon})
    width = "unknown" if row.within is None else f"+-{row.within:.4g} ({row.unit})"
    comments = [
        f"Planned for: {query}",
        f"Expected: {width} with {row.users:,} users, shape {row.shape}; nine surveys in ten within {row.within_90:.4g}"
        if row.users is not None and row.within_90 is not None
        else f"Expected: {width}",
        survey.mechanism.guarantee.words(),
    ]
    return "".join(f"# {line}\n" for line in comments) + dump(survey.canonical())


def _new(domain: Domain) -> dict[str, Any]:
    return {"domain": domain.table(), "answers": {"minimum_reports": MINIMUM_REPORTS}}


def _kept(survey: Survey, row: PlanRow) -> dict[str, Any]:
    """The given survey's table; options and rounds only where the row has the mechanism that they were chosen for."""
    table = survey.canonical()
    table.pop("options")
    if row.mechanism != table["mechanism"]:
        table.pop("rounds", None)
    elif survey.reason is None:  # "auto" chooses options anew
        table["options"] = survey.mechanism.lasting_options()
    return table
