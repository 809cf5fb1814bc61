"""Texts without a given list: which ones are frequent, and what share of the devices has any text."""

from hearsay.mechanisms.tables import Form

DOMAINS = {"text": "domain:Text"}

MECHANISMS = {"prefixes": (Form(("text",), "prefixes:Prefixes"),)}

QUERIES = {
    "point": "queries:TextPoint",
    "top": "queries:TopTexts",
    "told": "queries:Told",
    "outside": "queries:Outside",
}

CANDIDATES = {"text": ("prefixes",)}
