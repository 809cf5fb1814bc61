"""The mean of one number per device."""

from hearsay.mechanisms.tables import Form

DOMAINS = {"number": "domain:Number"}

MECHANISMS = {"mean": (Form(("number",), "mean:MeanMechanism"),)}

QUERIES = {"mean": "queries:MeanOfNumber"}

CANDIDATES = {"number": ("mean",)}
