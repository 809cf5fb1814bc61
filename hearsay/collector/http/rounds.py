"""The open round of a survey over HTTP, as gateways and estimators hand it out."""

from starlette.responses import JSONResponse, Response

from hearsay.collector.http.problems import Problem
from hearsay.collector.survey.offers import Offer
from hearsay.collector.survey.survey import Survey

SHARED = "public, max-age=10"  # a round that is over is refused by the server, however long its offer was kept


def offer_response(survey: Survey, offer: Offer | None) -> Response:
    """The open round, as one device gets it; no cache may keep what was drawn for one device."""
    if offer is None:
        raise Problem(409, "no-round", f"survey {survey.name} has no open round")
    return JSONResponse(offer.table(), headers={"Cache-Control": SHARED if offer.shared else "no-store"})
