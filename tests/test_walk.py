"""The ways between the folders stay short: files, changes of folder and round trips of each step are bounded."""

from pathlib import Path

import pytest

from hearsay.ops.server.embedded import EmbeddedServer
from tests.walk import ACCUMULATOR, BOUNDS, STEPS, Walk, table, walk_all

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "architecture.md"


@pytest.fixture(scope="module")
def walks(server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Walk]]:
    return walk_all(server, tmp_path_factory.mktemp("walk"))


@pytest.mark.parametrize("step", STEPS)
def test_no_step_walks_further_than_it_may(walks: dict[str, dict[str, Walk]], step: str) -> None:
    for survey, steps in walks.items():
        one, bound = steps[step], BOUNDS[step]
        seen = (len(one.files), one.changes, one.trips)
        assert one.within(bound), f"{survey}: {step} took {seen} files, changes and trips, allowed are {bound}"


def test_a_query_while_reports_flow_fetches_no_accumulator(walks: dict[str, dict[str, Walk]]) -> None:
    for steps in walks.values():
        commands = steps["HTTP query while reports flow"].commands
        assert not any(ACCUMULATOR in command for command in commands)
        assert any(b"HMGET" in command for command in commands), "the new delta is fetched"


def test_asking_an_open_survey_is_as_cheap_as_a_live_query(walks: dict[str, dict[str, Walk]]) -> None:
    for steps in walks.values():
        opened, live = steps["open_survey().ask"], steps["live query"]
        assert opened.calls <= 1.1 * live.calls
        assert opened.trips <= live.trips


def test_the_page_shows_the_table(walks: dict[str, dict[str, Walk]]) -> None:
    """Its rows, not its figures: those change with every query that a family adds."""
    page = PAGE.read_text(encoding="utf-8")
    for line in table(walks):
        assert line.split(" | ")[0] in page
