"""What a device's ledger must know of a survey, whoever read it: `Survey`, or `Described` where there is no numpy."""

from typing import Any, Protocol

from hearsay.collector.survey.participation import Participation
from hearsay.collector.survey.windows import Windows


class Terms(Protocol):
    """Name, tag, what a report spends, windows, and how often a device takes part."""

    @property
    def name(self) -> str: ...

    @property
    def tag(self) -> str: ...

    @property
    def tag8(self) -> str: ...

    @property
    def epsilon(self) -> float: ...

    @property
    def windows(self) -> Windows: ...

    @property
    def participation(self) -> Participation: ...

    @property
    def memoised_buckets(self) -> int | None: ...

    def canonical(self) -> dict[str, Any]:
        """What the ledger keeps of it, to open it while the gateway is away."""
