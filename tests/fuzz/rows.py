"""Files of values in every kind of domain: read whole, or refused with the line, and never with what stands in it."""

import csv
import io
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from hearsay.mechanisms.catalogue import parse_domain
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import ValueOutsideDomain
from hearsay.producer import values
from hearsay.producer.errors import ValuesError
from tests.fuzz.octets import NASTY_TEXT, damaged, damaged_text, put
from tests.fuzz.tally import Tally, one_line
from tests.producer.test_rows import KINDS

SECRET, NAME = "S3CR3T", "shown"


@cache
def seeds() -> list[tuple[Domain, list[list[str]]]]:
    """Domains of every kind with a few good rows each, the header first."""
    found = []
    for kind, (table, row, _) in KINDS.items():
        domain = parse_domain({"kind": kind, **table})
        cells = row.split(",")
        found.append((domain, [list(domain.columns), cells, cells, cells]))
        if domain.columns[0] == "device":
            found[-1][1][1:] = [[f"d{number}", *cells[1:]] for number in range(4)]
    return found


def run(tally: Tally, seed: int, cases: int, folder: Path) -> None:
    random = Random(seed)
    texts = ["\n".join(",".join(row) for row in rows) for _, rows in seeds()]
    file = folder / "fuzzed.csv"
    for _ in range(cases):
        domain, rows = random.choice(seeds())
        octets = _file(random, rows, texts)
        put(file, octets)
        tally.run((domain.kind, octets), lambda domain=domain: _read(file, domain))


def _file(random: Random, rows: list[list[str]], texts: list[str]) -> bytes:
    table = [list(row) for row in rows]
    kind = random.randrange(4)
    if kind < 2:  # one cell is another; names of columns are shown, so that the secret is never among them
        row = random.choice(table)
        secret = NAME if row is table[0] else SECRET
        place = random.randrange(len(row))
        match random.randrange(5):
            case 0:
                row[place] = random.choice(NASTY_TEXT)
            case 1:
                row[place] += random.choice((secret, ",5", "_0", "e5", "\n", "0" * 50, "\x00", " "))
            case 2:
                row[place] = secret
            case 3:
                row.insert(place, random.choice(("", "1", secret)))
            case _:
                row.pop(place)
    buffer = io.StringIO()
    quoting: Any = random.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    csv.writer(buffer, quoting=quoting, lineterminator=random.choice(("\n", "\r\n", "\r"))).writerows(table)
    text = buffer.getvalue()
    if kind == 2:
        text = damaged_text(random, text, texts)
    octets = text.encode(random.choice(("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16")), errors="surrogatepass")
    return damaged(random, octets) if kind == 3 else octets


def _read(file: Path, domain: Domain) -> str:
    try:
        found = values.read(file, domain)
    except (ValuesError, ValueOutsideDomain) as refusal:
        return one_line(refusal, SECRET)
    assert len(domain.check(found)) > 0
    return "accepted"
