"""The mean of one number a device."""

from hearsay.mechanisms.forms import Form

DOMAINS = {"number": "domain:Number"}

MECHANISMS = {"mean": (Form(("number",), "mean:Mean"),)}

QUERIES = {"mean": "queries:Mean"}

CANDIDATES = {"number": ("mean",)}
