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
    window = {"every": None, **(definition.get("window") or {})}
    window.pop("retain", None)
    hashed = {**definition, "window": window, "wire": WIRE_VERSION}
    return sha256(json.dumps(hashed, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
