"""A device that follows the form in a gateway's answer: the standard library and msgpack only."""

from collections.abc import Mapping
from typing import Any

from hearsay.collector.errors import OfferRefused
from hearsay.producer.errors import FormError
from hearsay.producer.portable.described import Described
from hearsay.producer.portable.words import Words


class FormSide:
    """The form's draws, from the secure source. There are no rounds."""

    def __init__(self, survey: Described, random: object, answered: int) -> None:
        if random is not None or answered:
            raise FormError("a device without numpy has no rounds and draws from the secure source only")
        self._form = survey.form

    def read(self, value: Any) -> int:
        """The cell of a value in the survey's own units."""
        return self._form.cells.find(value)

    def offer(self, round: Mapping[str, Any] | None) -> None:
        """A survey with rounds has no form."""
        if round is not None:
            raise OfferRefused("this survey has no rounds")

    def check(self, offer: object, answered: int) -> None:
        """Never asked: there are no offers."""
        raise OfferRefused("this survey has no rounds")

    def draw(self, cells: int, offer: object, answered: int, stream: object = None) -> bytes:
        """A report."""
        return self._form.report_cell(cells, Words())

    def many(self, values: Any) -> list[bytes]:
        """Reports of many devices, one after the other."""
        return [self._form.report_cell(self.read(value), Words()) for value in values]
