"""Surveys: read from tables and files, written out in canonical form, and named by a tag.

The tag is a hash of the canonical form and of the wire version: two parties with the same tag agree on every
probability, every report layout and every state layout. How long results are kept is not part of it.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hearsay.collector.errors import SurveyError
from hearsay.collector.showing import ten_lines
from hearsay.collector.survey.participation import Participation, unstated
from hearsay.collector.survey.tags import tag_of
from hearsay.collector.survey.windows import Rounds, Windows, seconds, windows_of
from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.errors import MechanismError
from hearsay.mechanisms.estimates.postprocess import ISOTONIC, unsuited


@dataclass(frozen=True)
class Survey:
    """A question to a population, with everything that devices, workers and estimator must agree on.

    `reason` says why the mechanism was chosen where the file left that open; `history` holds what earlier rounds made
    public. Neither is part of the definition.
    """

    name: str
    mechanism: Mechanism
    every: str | None
    retain: str | None
    minimum_reports: int
    postprocess: str = "none"
    reason: str | None = field(default=None, compare=False)
    round_reports: int | None = None
    round_within: str | None = None
    history: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)
    stated_participation: Participation | None = None
    durable: str | None = None  # how safe a report must be before its writer is told; None: as the setting says

    @classmethod
    def of(cls, source: "Survey | Mapping[str, Any] | str | Path") -> "Survey":
        """A survey from its table or its TOML file; a survey is itself. SurveyError says what is wrong with it.

        >>> Survey.of({"name": "likes", "mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "binary"}}).epsilon
        1.0
        """
        if isinstance(source, str | Path):
            return load(source)
        if isinstance(source, Mapping):
            return parse(dict(source))
        if not isinstance(source, Survey):
            raise SurveyError(
                what="survey", expected="a table, the path of a file or a Survey", got=type(source).__name__
            )
        return source

    def __repr__(self) -> str:
        domain = self.mechanism.domain
        return ten_lines(
            f"Survey {self.name}",
            [
                ("domain", f"{domain.kind}, {domain.size:,} {'value' if domain.size == 1 else 'values'}"),
                ("mechanism", f"{self.mechanism.ID}, epsilon {self.epsilon:g}"),
                ("promise", self.mechanism.guarantee.words()),
                ("tag", self.tag8),
            ],
        )

    @property
    def epsilon(self) -> float:
        return self.mechanism.epsilon

    @cached_property
    def windows(self) -> Windows:
        """How its reports fall into windows."""
        if self.mechanism.rounds > 1:
            return Rounds(self.round_reports, None if self.round_within is None else seconds(self.round_within))
        return windows_of(self._window)

    @cached_property
    def participation(self) -> Participation:
        """How often a device takes part: what the file says, or what its windows suggest."""
        return self.stated_participation or unstated(self.windows)

    @property
    def memoised_buckets(self) -> int | None:
        """g, where its reports can be memoised."""
        return self.mechanism.memoised_buckets

    @property
    def retain_s(self) -> int | None:
        return None if self.retain is None else seconds(self.retain)

    @property
    def _window(self) -> dict[str, Any]:
        """The file's table of that name, empty where it has none."""
        return _given(every=self.every, retain=self.retain)

    def in_round(self, history: Sequence[Mapping[str, Any]]) -> "Survey":
        """The survey as it stands in round `len(history) + 1`; its definition and tag stay."""
        return replace(self, mechanism=self.mechanism.in_round(history), history=tuple(history)) if history else self

    def canonical(self) -> dict[str, Any]:
        """The survey with every default written out; `parse` accepts it again and gives the same tag."""
        rounds = _given(reports=self.round_reports, within=self.round_within)
        return {
            "name": self.name,
            "mechanism": self.mechanism.ID,
            "epsilon": self.mechanism.epsilon,
            "domain": self.mechanism.domain.table(),
            "options": self.mechanism.canonical_options(),
            **({"window": self._window} if self._window else {}),
            **({"rounds": rounds} if rounds else {}),
            **_given(durable=self.durable),
            **({"participation": self.participation.table()} if self.participation.stated else {}),
            "answers": {"minimum_reports": self.minimum_reports, "postprocess": self.postprocess},
        }

    @cached_property
    def tag(self) -> str:
        """The hash by which two parties know that they have the same survey."""
        return tag_of(self.canonical())

    @cached_property
    def statement(self) -> dict[str, Any]:
        """What every snapshot says of it: definition and guarantee. Not to be changed: it is made once."""
        guarantee = self.mechanism.guarantee
        return {
            "mechanism": self.mechanism.ID,
            "epsilon": self.mechanism.epsilon,
            "guarantee": {**guarantee.table(), "words": guarantee.words()},
            "definition": self.canonical(),
        }

    @cached_property
    def tag8(self) -> str:
        """The tag's first eight digits, as Redis keys have them."""
        return self.tag[:8]


def parse(table: dict[str, Any]) -> Survey:
    """A survey from its table; SurveyError names the field, what is allowed and what was got."""
    from hearsay.collector.survey.file import checked, shown  # with pydantic, only where a survey is read

    file = checked(table)
    chosen = {"mechanism": file.mechanism, "epsilon": file.epsilon, "domain": file.domain, "options": file.options}
    reason = None
    try:
        if file.mechanism == "auto":
            from hearsay.mechanisms.planning.auto import resolve  # devices get the canonical survey and need it not

            chosen, reason = resolve(chosen)
        mechanism = build(chosen)
        _ = mechanism.layout, mechanism.arrays  # parts of it, such as an oracle per level, are checked when first used
    except MechanismError as error:
        raise shown(error) from None
    except MemoryError:
        raise SurveyError(f"mechanism {file.mechanism} needs more memory on this domain than there is") from None
    domain = mechanism.domain
    if file.answers.postprocess == ISOTONIC and not (isinstance(domain, Cells) and domain.is_line):
        raise SurveyError(f"answers.postprocess isotonic needs an ordinal domain, got {domain.kind!r}")
    reason_against = unsuited(file.answers.postprocess, domain) or mechanism.lacks(file.answers.postprocess)
    if reason_against is not None:
        raise SurveyError(f"answers.postprocess {reason_against}")
    if file.rounds is not None and mechanism.rounds == 1:
        raise SurveyError(what="rounds", expected=f"left out for mechanism {mechanism.ID}, which has none")
    if file.window is not None and (file.rounds is not None or mechanism.rounds > 1):
        raise SurveyError("window and rounds exclude each other: a survey with rounds has one window per round")
    survey = Survey(
        file.name,
        mechanism,
        file.window.every if file.window else None,
        file.window.retain if file.window else None,
        file.answers.minimum_reports,
        file.answers.postprocess,
        reason,
        file.rounds.reports if file.rounds else None,
        file.rounds.within if file.rounds else None,
        stated_participation=None if file.participation is None else Participation(**file.participation.model_dump()),
        durable=file.durable,
    )
    survey.participation.check(survey.epsilon, survey.windows, mechanism.memoised_buckets)
    return survey


def load(path: str | Path) -> Survey:
    """A survey from a TOML file; a matrix among its options may stand in a CSV file beside it."""
    from hearsay.collector.survey.file import printable, with_matrices

    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SurveyError(f"survey file {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise SurveyError(f"survey file {path} is not valid TOML: it is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:  # not TOML, or nested or long beyond reason
        raise SurveyError(f"survey file {path} is not valid TOML: {printable(str(error))}") from None
    try:
        return parse(with_matrices(table, Path(path).parent))
    except SurveyError as error:
        raise error.within(f"survey file {path}") from None


def _given(**values: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in values.items() if value is not None}
