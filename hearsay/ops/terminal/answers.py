"""How answers are shown to a person: one line for one answer, a table for many.

An interval says how many digits of its answer mean anything: two of its half width, and so many decimals for the
value. `0.5667 +- 0.0155` is shown as `0.567 (0.551 to 0.582)`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10
from typing import Any

from rich.text import Text

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.queries.answer import Answer
from hearsay.ops.terminal.present import console, print_table, show

_MOST = 12  # decimals
CUT_SHARE = (
    "a share below 0 or above 1 is noise: the true one is near that end, or reports are few. Values are unbiased and "
    "not cut; their intervals are cut to 0 to 1"
)
COEFFICIENTS = {"pearson": "Pearson", "cramers-v": "Cramer's V"}


def print_answers(title: str, answers: Sequence[Answer], scale: tuple[float, float] | None = None) -> None:
    """One answer as a line with `title` below it; several as a table with the question in its title.

    Of several questions, each with several answers has a table of its own; those with one answer share a table.
    `scale` is what the domain allows means to be: an interval that reaches beyond is shown cut to it, with a word why.
    """
    shown = [_Shown.of(each, scale) for each in answers]
    if not shown:  # of texts or heavy items, which are shown where they are detected
        console().print(Text("nothing is detected: no share is significantly above 0"))
        console().print(Text(title, style="dim"))
    elif len(shown) == 1:
        console().print(Text(_line(shown[0], shown[0].decimals)))
        console().print(Text(title, style="dim"))
    else:
        for heading, part in by_question(title, answers):
            _print_part(heading, [shown[number] for number in part])
    for note in dict.fromkeys(note for each in shown for note in each.notes):
        console().print(Text(f"note: {note}"))


@dataclass(frozen=True)
class _Shown:
    """An answer with the ends of its interval as a person sees them."""

    answer: Answer
    low: float | None
    high: float | None
    notes: tuple[str, ...]

    @classmethod
    def of(cls, answer: Answer, scale: tuple[float, float] | None) -> "_Shown":
        low, high = answer.low, answer.high
        notes: tuple[str, ...] = () if answer.note is None else (answer.note,)
        if answer.value is None or answer.of is not None:
            return cls(answer, low, high, notes)
        if scale is None or not is_mean(answer.query):
            outside = _outside_interval(answer)
            return cls(answer, low, high, (*notes, CUT_SHARE) if outside else notes)
        least, most = scale
        cut_low = None if low is None else min(max(low, least), most)
        cut_high = None if high is None else min(max(high, least), most)
        if not least <= answer.value <= most:
            notes += (
                f"a mean outside {show(least)} to {show(most)}: noise outweighs so few reports. Values are unbiased "
                "and not cut; the interval is cut to what the domain allows",
            )
        elif (cut_low, cut_high) != (low, high):
            notes += (f"intervals are cut to what the domain allows, {show(least)} to {show(most)}",)
        return cls(answer, cut_low, cut_high, notes)

    @property
    def decimals(self) -> int | None:
        """How many say something; None where no interval tells."""
        low, high = self.answer.low, self.answer.high
        if low is None or high is None:
            return None
        if all(number is None or float(number).is_integer() for number in (self.answer.value, low, high)):
            return 0  # a quantile of integers
        return decimals_of((high - low) / 2)


def by_question(title: str, answers: Sequence[Answer]) -> list[tuple[str, list[int]]]:
    """Which answers share a table, by their numbers, and what stands above it: `title` above the first."""
    places: dict[str, list[int]] = {}
    for number, each in enumerate(answers):
        places.setdefault(each.query, []).append(number)
    parts: dict[str, list[int]] = {}
    for query, numbers in places.items():
        parts.setdefault(query if len(numbers) > 1 or len(places) == 1 else "", []).extend(numbers)
    if list(parts) in ([], [""]):
        return [(title, [*range(len(answers))])]
    named = [(query or "one answer each", numbers) for query, numbers in parts.items()]
    return [(f"{named[0][0]}: {title}", named[0][1]), *named[1:]]


def _print_part(title: str, shown: Sequence["_Shown"]) -> None:
    decimals = _alike([each.decimals for each in shown])
    many = any(not title.startswith(each.answer.query) for each in shown)
    table = [_columns(each, places, many) for each, places in zip(shown, decimals, strict=True)]
    names = list(dict.fromkeys(name for columns in table for name in columns))
    print_table(title, names, [[columns.get(name) for name in names] for columns in table])


def alike_decimals(answers: Sequence[Answer]) -> list[int | None]:
    """How many decimals of each answer say something, the same for all where they differ little."""
    decimals = [_Shown(each, each.low, each.high, ()).decimals for each in answers]
    kinds = [each.query.split()[0] for each in answers]  # a range is a share, a quantile is not
    for kind in set(kinds):
        numbers = [number for number, one in enumerate(kinds) if one == kind]
        for number, places in zip(numbers, _alike([decimals[number] for number in numbers]), strict=True):
            decimals[number] = places
    return decimals


def subject(each: Answer, many: bool) -> str:
    """What an answer is about, in words; nothing where its question says it, if the question is shown with each."""
    if each.cell is not None:
        return show(each.cell)
    if each.item is None or each.band is not None or (many and _named(each)):
        return ""
    return show(each.item)


def _outside_interval(answer: Answer) -> bool:
    """Whether a share is below 0 or above 1 beside an interval that is cut to 0..1, as that of a conditional share."""
    value, low, high = answer.value if answer.owns_interval else answer.unbiased, answer.low, answer.high
    if value is None or low is None or high is None or not (value < 0 <= low or high <= 1 < value):
        return False
    return answer.interval is not None and answer.coefficient is None


def is_mean(query: str) -> bool:
    """Whether a question is about means, which the domain bounds."""
    return query.split(maxsplit=1)[0] in ("mean", "means")


def decimals_of(half: float) -> int | None:
    """Decimals that show two digits of this half width; None where it is nothing."""
    if not isfinite(half) or half <= 0:
        return None
    return min(max(0, 1 - floor(log10(half))), _MOST)


def rounded(value: float | None, decimals: int | None) -> str:
    """A number with so many decimals; with four significant digits where nothing says how many."""
    if value is None or decimals is None:
        return show(value)
    text = f"{value:,.{decimals}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text  # -0.000


def _alike(decimals: Sequence[int | None]) -> list[int | None]:
    """The same number for all where they differ by no more than two."""
    known = [each for each in decimals if each is not None]
    if not known or max(known) - min(known) > 2:
        return list(decimals)
    return [None if each is None else max(known) for each in decimals]


def _line(shown: _Shown, decimals: int | None) -> str:
    """`range 300 500: 0.567 (0.551 to 0.582), 95%`; `top 1: apple 0.370 (0.351 to 0.389), 95%`."""
    each = shown.answer
    about = f"{subject(each, many=False)} " if _is_of_a_list(each) else ""

    def number(value: float | None) -> str:
        return rounded(value, decimals)

    interval = _interval(shown.low, shown.high, number)
    words = f"{each.query}: {about}{number(each.value)}"
    if each.postprocess is None:
        words += f" {interval}"
    elif each.owns_interval:
        words += f" {interval}, after {each.postprocess}; raw {number(each.unbiased)}"
    else:
        words += f" after {each.postprocess}; raw {number(each.unbiased)} {interval}"
    if each.simultaneous is not None:
        words += f", for all cells at once {_interval(*each.simultaneous, number)}"
    if each.coefficient is not None:
        words += f", {COEFFICIENTS.get(each.coefficient, each.coefficient)}"
    if each.of is not None:
        words += f"; {number(each.of[0])} less {number(each.of[1])}"
    if each.window is not None:
        words += f"; from window {each.window} on"
    for name, value in (("p", each.p_value), ("p adjusted", each.p_adjusted)):
        if value is not None:
            words += f"; {name} {show(float(f'{value:.2g}'))}"
    if each.rank_bound is not None:
        words += f"; rank within {show(each.rank_bound)}"
    return words


def _interval(low: float | None, high: float | None, number: Callable[[float | None], str]) -> str:
    if low is None and high is None:
        return "(no interval is known)"
    return f"({number(low)} to {number(high)}), 95%"


def _columns(shown: _Shown, decimals: int | None, many: bool) -> dict[str, Any]:
    each = shown.answer
    columns: dict[str, Any] = {"query": each.query} if many else {}
    if each.cell is not None:
        columns |= each.cell
    elif each.item is not None and each.band is None and not (many and _named(each)):
        columns["item"] = each.item  # that of a quantile is its value again
    if each.coefficient is not None:
        columns["coefficient"] = COEFFICIENTS.get(each.coefficient, each.coefficient)

    def number(value: float | None) -> str:
        return rounded(value, decimals)

    interval = {"low": number(shown.low), "high": number(shown.high)}
    if each.postprocess is not None:
        columns |= {each.postprocess: number(each.value)}
    columns |= interval if each.owns_interval else {}  # an interval stands behind the value that it belongs to
    columns |= {"value" if each.postprocess is None else "raw": number(each.unbiased)}
    columns |= {"stderr": rounded(each.stderr, decimals and decimals + 1)} | interval
    if each.simultaneous is not None:
        columns |= {name: number(end) for name, end in zip(("all low", "all high"), each.simultaneous, strict=True)}
    if each.rank_stderr is not None:
        columns["rank stderr"] = show(float(f"{each.rank_stderr:.2g}"))
    if each.rank_bound is not None:
        columns["rank bound"] = each.rank_bound
    if each.window is not None:
        columns["window"] = each.window
    if each.p_value is not None:
        columns["p"] = float(f"{each.p_value:.2g}")
    if each.p_adjusted is not None:
        columns["p adjusted"] = float(f"{each.p_adjusted:.2g}")
    if each.of is not None:
        columns |= {name: number(value) for name, value in zip(("a", "b"), each.of, strict=True)}
    return columns


def _is_of_a_list(each: Answer) -> bool:
    """Whether the question leaves open which items are answered: `top 1`."""
    verb = each.query.split(maxsplit=1)[0]
    return verb in catalogue.QUERIES and any(kind.MANY for kind in catalogue.queries(verb))


def _named(each: Answer) -> bool:
    """Whether the question already names the item: `point apple`, `range 3 5`."""
    parts = each.item if isinstance(each.item, list | tuple) else [each.item]
    return all(str(part) in each.query for part in parts)
