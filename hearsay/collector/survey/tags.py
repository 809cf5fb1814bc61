"""The tag of a survey's definition, which a device computes too; so this needs nothing but the standard library."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

WIRE_VERSION = 1


def tag_of(definition: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical form without `retain`, with the wire version.

    >>> tag_of({"name": "likes", "window": {"retain": "30d"}}) == tag_of({"name": "likes"})
    True
    """
    hashed = {**_tagged(definition), "wire": WIRE_VERSION}
    return sha256(json.dumps(hashed, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def differing_keys(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The keys in which two definitions differ, of those that the tag is made of; never a value.

    >>> differing_keys({"epsilon": 1.0, "domain": {"kind": "ordinal", "size": 4}, "window": {"retain": "30d"}},
    ...                {"epsilon": 2.0, "domain": {"kind": "ordinal", "size": 8}})
    ['epsilon', 'domain.size']
    """
    first, second = _tagged(one), _tagged(other)
    keys = []
    for key in first | second:
        was, now = first.get(key), second.get(key)
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            keys += [f"{key}.{inner}" for inner in {**was, **now} if was.get(inner) != now.get(inner)]
        elif was != now:
            keys.append(key)
    return keys


def _tagged(definition: Mapping[str, Any]) -> dict[str, Any]:
    """What the tag is made of: `retain` may change."""
    window = {"every": None, **(definition.get("window") or {})}
    window.pop("retain", None)
    return {**definition, "window": window}
