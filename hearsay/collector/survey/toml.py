"""Survey tables written as TOML, which the standard library only reads."""

import json
from collections.abc import Mapping
from typing import Any


def dump(table: Mapping[str, Any]) -> str:
    """The table as a survey file: plain values first, then tables, then lists of tables."""
    return "\n".join(_lines(table, "")) + "\n"


def _lines(table: Mapping[str, Any], path: str) -> list[str]:
    plain = {key: value for key, value in table.items() if not _is_table(value)}
    lines = [f"{key} = {_value(value)}" for key, value in plain.items()]
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
