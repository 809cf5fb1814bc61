"""The bench of queries while reports flow, in small."""

import pytest

from hearsay.ops.bench import queries


@pytest.mark.slow
def test_every_query_is_answered_while_reports_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "REPORTS_PER_S", 100_000)
    monkeypatch.setattr(queries, "WARM_UP_S", 2.0)
    rows = {row.unit: row for row in queries.rows(seconds=1.0)}
    assert rows["s"].value > 0
    assert rows["s a query"].value > 0
    assert rows["MB"].value > 50
