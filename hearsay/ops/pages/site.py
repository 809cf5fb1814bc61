"""A hook of mkdocs (`mkdocs.yml`): the order of a reader; what lies outside docs/ is named, not linked."""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
ORDER = {
    "Start": ["start/getting-started.md", "start/python.md"],
    "Concepts": [f"concepts/{name}.md" for name in ("epsilon", "reports", "intervals", "windows", "rounds")],
    "How to": [f"how-to/{name}.md" for name in ("csv", "devices", "correlations", "ratings", "text")],
    "Reference": ["reference/survey.md", "reference/queries.md", "reference/cli.md"],
    "Explanation": ["explanation/architecture.md"],
}
FOLDERS = {"Start": "start", "Concepts": "concepts", "How to": "how-to", "Reference": "reference"}
LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)")


def on_config(config: Any) -> Any:
    """The first pages of each part as listed, the others by name."""
    config.nav = [{"hearsay": "README.md"}]
    for part, first in ORDER.items():
        folder = DOCS / FOLDERS.get(part, part.lower())
        others = sorted(path.relative_to(DOCS).as_posix() for path in folder.glob("*.md"))
        config.nav.append({part: [*first, *(name for name in others if name not in first)]})
    decisions = DOCS / "explanation" / "decisions"
    listed = sorted(path.relative_to(DOCS).as_posix() for path in decisions.glob("*.md"))
    config.nav[-1]["Explanation"].append({"Decisions": sorted(listed, key=lambda name: not name.endswith("README.md"))})
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to files of the repository that are not on the site become their names."""
    folder = (DOCS / page.file.src_uri).parent

    def named(link: re.Match[str]) -> str:
        text, target = link[1], link[2]
        path = (folder / target).resolve()
        if "://" in target or path.is_relative_to(DOCS):
            return link[0]
        return f"{text} (`{path.relative_to(ROOT)}`)"

    return LINK.sub(named, markdown)
