"""The surveys of the demo, with their simulated people and the questions asked."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import numpy as np

from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import Survey, load
from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.domains.domain import Indices, Values
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.exact.randomness import secure
from hearsay.mechanisms.marginals.domain import GIVEN
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.questions import Question, answer, parse_text
from hearsay.producer.fleet import Fleet
from hearsay.producer.populations import Population
from hearsay.producer.values import Rows

SURVEYS = Path(str(files("hearsay.ops"))) / "surveys"
SEED = 2026  # of the people, who are the same every time; their reports are drawn afresh, as on real devices
SECONDS = 25.0  # how long the devices report


@dataclass
class DemoSurvey:
    """One survey of the demo: its people's true values, the questions, and how far its devices are."""

    survey: Survey
    people: Values
    questions: tuple[str, ...]
    published: int = 0
    error: BaseException | None = field(default=None, repr=False)

    @property
    def headline(self) -> str:
        """The question that the live table shows."""
        return self.questions[0]

    def truth(self) -> list[Answer]:
        """What is true, question by question."""
        return self.ask(self.survey.mechanism.exact(self.people))

    def write_truth(self, folder: Path) -> None:
        """For the page, which draws it as a thin line: how many people hold each cell, where there are cells."""
        domain = self.survey.mechanism.domain
        if isinstance(domain, Cells):
            cells = domain.flatten(np.asarray(self.people))
            counts = np.bincount(cells, minlength=domain.size)
            np.save(folder / f"{self.survey.name}.npy", counts.reshape(domain.shape))

    def ask(self, estimate: Estimate) -> list[Answer]:
        """An estimate's answers to the questions, but those that follow from others."""
        asked = [parse_text(question) for question in self.questions]
        answers = [answer(question, estimate, default=self.survey.postprocess) for question in asked]
        return [each for question, many in zip(asked, answers, strict=True) for each in unimplied(question, many)]

    def start(self, connect: Callable[[], Registry], stop: threading.Event) -> threading.Thread:
        """Let the devices report, in a thread with a connection of its own."""
        thread = threading.Thread(target=self._report, args=(connect, stop), daemon=True)
        thread.start()
        return thread

    @property
    def expected(self) -> int:
        """How many reports there will be: one per device, or one per device and round."""
        return len(self.people) * self.survey.mechanism.rounds

    def _report(self, connect: Callable[[], Registry], stop: threading.Event) -> None:
        try:
            # Rounds share the time, less what closing and opening them takes.
            times = 1.6 * self.survey.mechanism.rounds if self.survey.windows.in_rounds else 1
            rate = times * len(self.people) / SECONDS
            fleet = Fleet(connect().get(self.survey.name), secure(), frame=1_024, rate=rate, stop=stop)
            fleet.take_part(Rows(self.people), len(self.people), self._count)
        except BaseException as error:  # shown by the main thread, which has the screen
            self.error = error

    def _count(self, reports: int) -> None:
        self.published += reports


def unimplied(question: Question, answers: list[Answer]) -> list[Answer]:
    """Without the last share of each table, which follows from the others: shares of a table sum to one.

    Of `conditional smokes given age` the table of each age is one by itself.
    """
    if any(each.cell is None for each in answers) or len(answers) < 2:
        return answers
    words = question.arguments
    given = words[words.index(GIVEN) + 1 :] if GIVEN in words else ()
    last = {tuple((each.cell or {})[name] for name in given): number for number, each in enumerate(answers)}
    return [each for number, each in enumerate(answers) if number not in last.values()]


def demo_surveys() -> list[DemoSurvey]:
    """The example surveys of ops/surveys with their simulated people.

    Questions of one survey are about different people: answers about the same ones miss together.
    """
    return [
        _demo_survey(
            "favourite-fruit", "zipf", 400_000, ("point apple", "point banana", "point cherry", "point quince")
        ),
        _demo_survey("session-minutes", "cauchy", 1_000_000, ("range 300 500", "range 0 99", "quantile 0.9")),
        _demo_survey("meeting-place", "normal", 400_000, ("range 8:15 4:11", "range 0:7 0:7", "range 16:23 8:15")),
        _demo_survey("doctor-visits", "zipf", 200_000, ("mean", "point 2")),
        _demo_survey("heart-rate", "bimodal", 600_000, ("range 60 90", "quantile 0.95")),
        _demo_survey(
            "film-stars",
            "gauss",
            300_000,
            (
                "mean psycho",
                "point psycho",
                "mean metropolis",
                "point metropolis",
                "mean casablanca",
                "point casablanca",
            ),
        ),
        _demo_survey("app-use", "power-law", 200_000, ("mean camera", "point camera", "mean games", "point games")),
        _demo_survey("page-load", "normal", 300_000, ("range 2 4", "quantile 0.9")),
        _demo_survey("new-words", "zipf", 400_000, ("point baba", "point babu", "point bado", "point zuzu")),
        _demo_survey("commute-minutes", "normal", 200_000, ("std", "mean")),
        _habits(400_000),
    ]


def _habits(devices: int) -> DemoSurvey:
    """Correlated habits: smoking depends on age, sport on smoking, sleep on sport."""
    generator = np.random.default_rng([SEED, devices])

    def following(parents: Indices, chances: list[list[float]]) -> Indices:
        """A value for each person, with the probabilities of their parent value."""
        limits = np.cumsum(np.array(chances), axis=1)[parents]
        return (generator.random(devices)[:, None] > limits[:, :-1]).sum(axis=1).astype(np.int64)

    age = generator.choice(3, devices, p=[0.35, 0.4, 0.25])
    smokes = following(age, [[0.25, 0.75], [0.75, 0.25], [0.95, 0.05]])
    sport = following(smokes, [[0.2, 0.4, 0.4], [0.55, 0.33, 0.12]])
    sleeps_well = following(sport, [[0.6, 0.4], [0.45, 0.55], [0.3, 0.7]])
    people = np.stack([age, smokes, sport, sleeps_well], axis=1)
    questions = ("marginal sport sleeps-well", "conditional smokes given age")
    return DemoSurvey(load(SURVEYS / "daily-habits.toml"), people, questions)


def _demo_survey(name: str, distribution: str, devices: int, questions: tuple[str, ...]) -> DemoSurvey:
    survey = load(SURVEYS / f"{name}.toml")
    generator = np.random.default_rng([SEED, devices, len(name)])
    return DemoSurvey(survey, Population(distribution, survey.mechanism.domain, generator).take(devices), questions)
