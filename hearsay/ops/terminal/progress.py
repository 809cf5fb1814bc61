"""Progress bars on stderr; silent where stderr is not a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from hearsay.ops.terminal.present import notes


class ReportsPerSecond(ProgressColumn):
    """The recent speed."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f} reports/s")


class ReportsBar:
    """A bar that counts reports and can show the reason for a wait."""

    def __init__(self, bar: Progress, label: str, total: int) -> None:
        self._bar, self._label = bar, label
        self._task = bar.add_task(label, total=total)

    def advance(self, count: int) -> None:
        """Count more reports as done."""
        self._bar.update(self._task, advance=count, description=self._label)

    def waiting(self, cause: str) -> None:
        """Show this reason for waiting until the next advance."""
        self._bar.update(self._task, description=f"{self._label} (waiting: {cause})")


@contextmanager
def reports_bar(label: str, total: int) -> Iterator[ReportsBar]:
    """A bar of `total` reports."""
    console = notes()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        ReportsPerSecond(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    with bar:
        yield ReportsBar(bar, label, total)


@contextmanager
def steps_bar(label: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar of `total` steps; call the returned function after each step."""
    console = notes()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda: bar.advance(task)
