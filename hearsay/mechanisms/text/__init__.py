"""Texts that nobody listed: which ones are frequent, and how frequent any text is."""

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
