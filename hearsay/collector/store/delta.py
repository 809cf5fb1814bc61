"""What a field of `deltas` holds: a committed range's addition, or the names of the keys that hold it in parts."""

from typing import NamedTuple, Self

from hearsay.collector.errors import StateError

_PARTS = b"parts "


class Delta(NamedTuple):
    """`body` is the delta itself, empty where it stands in `parts`; `size` is the length of the whole in bytes."""

    body: bytes
    parts: tuple[str, ...]
    size: int

    @classmethod
    def parse(cls, blob: bytes) -> Self:
        if not blob.startswith(_PARTS):
            return cls(blob, (), len(blob))
        try:
            _, size, *names = blob.decode().split()
            return cls(b"", tuple(names), int(size))
        except ValueError:
            raise StateError(f"delta of {len(blob)} bytes is damaged") from None

    def blob(self) -> bytes:
        """As COMMIT stores it; the purge of a window reads it too."""
        return _PARTS + " ".join((str(self.size), *self.parts)).encode() if self.parts else self.body
