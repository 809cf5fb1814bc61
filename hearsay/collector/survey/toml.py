"""Survey tables written as TOML, which the standard library only reads."""

import json
from collections.abc import Mapping
from typing import Any

_LONG = 64  # numbers in a matrix that nobody reads


class Folded(str):
    """What a value is, in the place of the value; written as a comment."""


def folded(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table with its long matrices folded: `# table: 9 x 33 integers; --json has them`."""
    return {key: folded(value) if isinstance(value, Mapping) else _folded(value) for key, value in table.items()}


def _folded(value: Any) -> Any:
    rows = value if isinstance(value, list | tuple) else []
    if not rows or not all(isinstance(row, list | tuple) and len(row) == len(rows[0]) for row in rows):
        return value
    if len(rows) * len(rows[0]) < _LONG:
        return value
    kind = "integers" if all(isinstance(cell, int) for row in rows for cell in row) else "numbers"
    return Folded(f"{len(rows)} x {len(rows[0])} {kind}; --json has them")


def dump(table: Mapping[str, Any]) -> str:
    """The table as a survey file: plain values first, then tables, then lists of tables."""
    return "\n".join(_lines(table, "")) + "\n"


def _lines(table: Mapping[str, Any], path: str) -> list[str]:
    plain = {key: value for key, value in table.items() if not _is_table(value)}
    lines = [
        f"# {key}: {value}" if isinstance(value, Folded) else f"{key} = {_value(value)}" for key, value in plain.items()
    ]
    for key, value in table.items():
        if isinstance(value, Mapping):
            lines += [f"[{path}{key}]", *_lines(value, f"{path}{key}.")]
        elif _is_table(value):
            for entry in value:
                lines += [f"[[{path}{key}]]", *_lines(entry, f"{path}{key}.")]
    return lines


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list) and bool(value) and all(isinstance(entry, Mapping) for entry in value)
    )


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_value(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, float):
        return repr(value)  # shortest text that reads back the same; inf and nan are TOML too
    # A JSON string is a TOML string, except for the control character DEL, which JSON does not escape.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
