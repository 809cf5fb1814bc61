"""Ids of requests: UUIDv7 (RFC 9562, section 5.7), whose first 48 bits are the time and whose others are random."""

import secrets
import time


def new_request_id(now_ms: int | None = None) -> str:
    """An id for one request, made when it is first sent and kept for every repeat; of this time, or of now.

    >>> len(new_request_id()), new_request_id()[14]
    (36, '7')
    """
    made_ms = int(time.time() * 1_000) if now_ms is None else now_ms
    octets = bytearray(made_ms.to_bytes(6, "big") + secrets.token_bytes(10))
    octets[6], octets[8] = octets[6] & 0x0F | 0x70, octets[8] & 0x3F | 0x80
    text = octets.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
