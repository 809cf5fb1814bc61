"""Progress bars on stderr, with reports per second; silent where stderr is not a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from ops.present import notes


class ReportsPerSecond(ProgressColumn):
    """The speed of late."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f} reports/s")


@contextmanager
def reports_bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar of `total` reports; the function given advances it."""
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
        task = bar.add_task(label, total=total)
        yield lambda count: bar.advance(task, count)
