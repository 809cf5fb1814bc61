"""Every way to be malformed that there is: importing these modules tells the workshop about them."""

from tests.collector import malformed_entries, malformed_frames
from tests.collector.workshop import Bad, Workshop

__all__ = ["Bad", "Workshop", "malformed_entries", "malformed_frames"]
