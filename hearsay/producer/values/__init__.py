"""Real values from a file: CSV, plain or compressed by gzip, Parquet, or standard input."""

from hearsay.producer.values.reading import Loaded, load, read
from hearsay.producer.values.rows import Rows

__all__ = ["Loaded", "Rows", "load", "read"]
