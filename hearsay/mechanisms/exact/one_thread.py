"""Linear algebra in one thread.

Matrices of a few hundred rows gain nothing from OpenBLAS' threads, and where other processes keep the cores busy these
wait for each other: ten times the time, and more.
"""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> Any:
    return ThreadpoolController()


def in_one_thread() -> AbstractContextManager[object]:
    """What is computed inside uses one thread."""
    limited: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limited
