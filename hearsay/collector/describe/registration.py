"""What is said where a survey is registered."""

from hearsay.collector.survey.survey import Survey


def registration_lines(survey: Survey, closed: bool) -> list[str]:
    """What whoever registers a survey is told."""
    ending = "; it is closed and takes no more reports" if closed else ""
    chosen = "" if survey.reason is None else f"mechanism chosen automatically: {survey.reason}"
    opening = "" if closed else survey.windows.opening()
    return [f"survey {survey.name} is registered with tag {survey.tag8}{ending}", *filter(None, (chosen, opening))]
