"""The bench of large domains, at a small size: it measures what it says, and notices a wrong accumulator."""

from collections.abc import Iterator

import numpy as np
import pytest

from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.bench import large
from hearsay.ops.bench.row import Row
from hearsay.ops.commands.bench import BENCHES
from hearsay.ops.server.processes import Pipeline
from hearsay.ops.server.waiting import wait_until_folded
from hearsay.producer.fleet import Fleet
from hearsay.producer.populations import Population

CELLS, REPORTS, QUERIES = 1 << 14, 70_000, 1_000


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    with Pipeline(tmp_path_factory.mktemp("large")) as running:
        yield running


def rows_of(pipeline: Pipeline, mechanism_id: str) -> Iterator[Row]:
    return large._rows(pipeline, mechanism_id, CELLS, REPORTS, QUERIES)


@pytest.mark.parametrize("mechanism_id", large.MECHANISMS)
def test_every_question_is_answered(pipeline: Pipeline, mechanism_id: str) -> None:
    rows = list(rows_of(pipeline, mechanism_id))
    assert [row.unit for row in rows] == ["reports/s", "reports/s", "MB a delta", "s", "s", "MB", "ms", "s"]
    assert all(f"{mechanism_id}, 2^14 cells" in row.what for row in rows)
    assert all(np.isfinite(row.value) and row.value > 0 for row in rows)
    deltas, memory = rows[2], rows[5]
    assert deltas.ratio is not None
    assert deltas.ratio < 0.5
    assert memory.value < large.MEMORY_MB
    assert pipeline.registry().names() == [], "it leaves nothing behind"


def test_an_accumulator_that_holds_other_reports_is_an_error(pipeline: Pipeline) -> None:
    rows = rows_of(pipeline, "haar")
    next(rows)
    registered = pipeline.registry().get("large-haar")
    one_more = Population("uniform", registered.survey.mechanism.domain, np.random.default_rng(5))
    Fleet(registered, seeded(9)).run(one_more, 1)
    wait_until_folded(registered, REPORTS + 1)
    with pytest.raises(RuntimeError, match="must equal a single fold of the same reports"):
        list(rows)
    pipeline.registry().delete("large-haar")


def test_it_is_a_part_of_the_bench() -> None:
    assert BENCHES["large"] == large.__name__
