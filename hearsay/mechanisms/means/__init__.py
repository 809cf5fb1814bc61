"""Mean and standard deviation of one number per device."""

from hearsay.mechanisms.tables import Form

DOMAINS = {"number": "domain:Number"}

MECHANISMS = {
    "mean": (
        Form(("number",), "mean:MeanMechanism"),
        Form(("number",), "two_moments:TwoMoments", {"moments": 2}),
    )
}

QUERIES = {"mean": "queries:MeanOfNumber", "std": "queries:StdOfNumber"}

CANDIDATES = {"number": ("mean",)}
