"""What a service's loop says about itself: whether it is alive (if not, restart it) and ready (if not, wait)."""

import threading
import time

STUCK_AFTER_S = 300.0  # far above the longest pass


class Health:
    """The health of one loop; `trouble` is why it is not ready before its first pass."""

    def __init__(self, trouble: str = "the first pass is not done yet") -> None:
        self._lock = threading.Lock()
        self._last_turn = time.monotonic()
        self._last_pass = time.monotonic()
        self._trouble: str | None = trouble

    def turn(self) -> None:
        """The loop is running."""
        with self._lock:
            self._last_turn = time.monotonic()

    def passed(self) -> None:
        """A pass over the surveys went well."""
        with self._lock:
            self._trouble = None
            self._last_pass = time.monotonic()

    def troubled(self, reason: str) -> None:
        """No pass is possible now."""
        with self._lock:
            self._trouble = reason

    def alive(self) -> bool:
        """Whether the loop still turns."""
        with self._lock:
            return time.monotonic() - self._last_turn < STUCK_AFTER_S

    def since_pass_s(self) -> float:
        """How long ago the last pass was done; before the first, how long the process runs."""
        with self._lock:
            return time.monotonic() - self._last_pass

    def trouble(self) -> str | None:
        """Why there is nothing to be served now; None: ready."""
        with self._lock:
            return self._trouble
