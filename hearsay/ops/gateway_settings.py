"""The gateway's settings: its part of the table in `config`. Its flags leave out the first word of its variables."""

from functools import partial
from pathlib import Path

from hearsay.collector.roles import GATEWAY
from hearsay.ops.setting import Setting, flag, integer, number, port, seconds, text

LEVELS = ("memory", "disk", "replica")

ROLE = (GATEWAY,)
GATEWAY_TABLE = (
    Setting("gateway_host", "127.0.0.1", "The address that the gateway listens on.", str, ROLE, option="--host"),
    Setting("gateway_port", "8788", "The port that the gateway listens on.", port, ROLE, option="--port"),
    Setting(
        "gateway_processes",
        "1",
        "How many gateway processes listen on that port.",
        partial(integer, 1, 256),
        ROLE,
        option="--processes",
    ),
    Setting(
        "gateway_hold_s",
        "1",
        "How long the gateway holds reports to shuffle them together; 0: until the last append is done.",
        partial(seconds, 0, 60),
        ROLE,
        option="--hold-s",
    ),
    Setting(
        "durable",
        "memory",
        "Where reports are stored before their sender gets the answer: memory, disk (also without a value) or replica; "
        "a survey may ask for more.",
        partial(text, "memory, disk or replica", lambda given: given in LEVELS),
        ROLE,
        alone="disk",
    ),
    Setting(
        "gateway_keys",
        "",
        "Ask for a key of `hearsay key add` with every request.",
        flag,
        ROLE,
        otherwise="yes, where the gateway listens beyond this machine",
        option="--keys",
        switch=True,
    ),
    Setting(
        "gateway_origins",
        "",
        "Origins whose pages may send reports, separated by commas, such as https://example.org.",
        str,
        ROLE,
        otherwise="none",
        option="--origins",
    ),
    Setting(
        "gateway_address_rate",
        "100",
        "Requests per second that an address may send, except addresses of this machine; 0: any number.",
        partial(number, "a number", 0, 1e9),
        ROLE,
        option="--address-rate",
    ),
    Setting(
        "gateway_key_rate",
        "0",
        "Requests per second that a key may send; 0: any number.",
        partial(number, "a number", 0, 1e9),
        ROLE,
        option="--key-rate",
    ),
    Setting(
        "gateway_certificate",
        "",
        "The certificate for TLS, as a file of PEM; with --private-key.",
        Path,
        ROLE,
        otherwise="none: plain HTTP",
        option="--certificate",
    ),
    Setting(
        "gateway_private_key",
        "",
        "The private key of the certificate, as a file of PEM.",
        Path,
        ROLE,
        otherwise="none",
        option="--private-key",
    ),
)
