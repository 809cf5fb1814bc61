"""Families from outside for the time of a test, in its own process and in those that it starts."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hearsay.mechanisms import catalogue

TABLES = (catalogue.DOMAINS, catalogue.MECHANISMS, catalogue.QUERIES, catalogue.CANDIDATES)


@contextmanager
def plugged(modules: str) -> Iterator[None]:
    """HEARSAY_PLUGINS names these; what is added to the catalogue meanwhile goes at the end."""
    before = [dict(table) for table in TABLES]
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HEARSAY_PLUGINS", modules)
            yield
    finally:
        for table, content in zip(TABLES, before, strict=True):
            table.clear()
            table.update(content)  # type: ignore[arg-type]
        catalogue.queries.cache_clear()
