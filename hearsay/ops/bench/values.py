"""Values from CSV files of one column, into cells of a domain. `python -m hearsay.ops.bench.values` prints the rows."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hearsay.mechanisms.catalogue import parse_domain
from hearsay.ops.bench.row import Row, best_seconds, readable
from hearsay.producer import values

ROWS = 2_000_000
TARGET_ROWS_PER_S = 10e6
LABELS = ("apple", "banana", "cherry", "elderberry", "fig")


def rows(count: int = ROWS) -> Iterator[Row]:
    """One row per form of a cell."""
    generator = np.random.default_rng(1)
    integers = generator.integers(0, 1024, count).tolist()
    decimals = [f"{number:.2f}" for number in (generator.random(count) * 100).tolist()]
    labels = [LABELS[number % len(LABELS)] for number in integers]
    yield _row("integers", map(str, integers), {"kind": "ordinal", "size": 1024})
    yield _row("decimals", iter(decimals), {"kind": "ordinal", "low": 0.0, "high": 100.0, "bins": 1000})
    yield _row("labels", iter(labels), {"kind": "categorical", "categories": list(LABELS)})


def _row(form: str, cells: Iterator[str], table: dict[str, object]) -> Row:
    domain = parse_domain(table)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "values.csv"
        file.write_text("value\n" + "\n".join(cells) + "\n", encoding="utf-8")
        count = len(values.read(file, domain))
        reading, counting = best_seconds(
            lambda: values.read(file, domain), lambda: file.read_bytes().count(b"\n"), repeats=5
        )
    return Row(
        f"values from a CSV file, {form}",
        count / reading,
        "rows/s",
        TARGET_ROWS_PER_S,
        ceiling=count / counting,
        ceiling_name="its lines counted",
    )


if __name__ == "__main__":
    for row in rows():
        print(f"{row.what}: {readable(row.value)} {row.unit}")
