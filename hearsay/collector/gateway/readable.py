"""The OpenAPI document as a page for people: no script, no foreign address, written from the document itself."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_STYLE = """
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; border-top: 1px solid #ccc; padding-top: 1rem; }
code, pre { font-family: ui-monospace, monospace; background: #f4f4f4; }
code { padding: 0 .2em; } pre { padding: .8rem; overflow-x: auto; }
table { border-collapse: collapse; } td, th { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top; }
"""


def page(document: Mapping[str, Any]) -> str:
    """The whole page."""
    info = document["info"]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(info["title"])}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><main><h1>{escape(info['title'])}</h1>"
        f'{_text(info["description"])}<p>For programs: <a href="openapi.json">openapi.json</a></p>'
        f"{''.join(_operations(document))}</main></body></html>"
    )


def _operations(document: Mapping[str, Any]) -> Iterator[str]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method == "parameters":
                continue
            yield f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
            yield f"<p><strong>{escape(operation['summary'])}</strong></p>{_text(operation.get('description', ''))}"
            parameters = [
                _resolved(document, each) for each in (*item.get("parameters", ()), *operation.get("parameters", ()))
            ]
            if parameters:
                yield _table(
                    ("parameter", "where", "what"),
                    [(each["name"], each["in"], each.get("description", "")) for each in parameters],
                )
            answers = {code: _resolved(document, each) for code, each in operation["responses"].items()}
            yield _table(("answer", "meaning"), [(code, each["description"]) for code, each in answers.items()])


def _resolved(document: Mapping[str, Any], table: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference stands for."""
    reference = table.get("$ref")
    if reference is None:
        return table
    target: Any = document
    for word in reference.removeprefix("#/").split("/"):
        target = target[word]
    return target


def _table(names: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    cells = ("".join(f"<td>{_inline(cell)}</td>" for cell in row) for row in rows)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def _text(text: str) -> str:
    return "".join(f"<p>{_inline(part)}</p>" for part in text.split("\n\n") if part.strip())


def _inline(text: str) -> str:
    """Text in which back ticks mark code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))
