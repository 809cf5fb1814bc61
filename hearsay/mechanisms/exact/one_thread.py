"""Linear algebra in one thread.

Matrices of a few hundred rows gain nothing from OpenBLAS' threads. If other processes keep the cores busy, the threads
wait for each other, and the computation takes ten times as long or more.
"""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:  # a device: it computes little, and alone
        return None
    return ThreadpoolController()


def in_one_thread() -> AbstractContextManager[object]:
    """A context in which linear algebra uses one thread, if threadpoolctl is installed."""
    controller = _controller()
    if controller is None:
        return nullcontext()
    limited: AbstractContextManager[object] = controller.limit(limits=1, user_api="blas")
    return limited
