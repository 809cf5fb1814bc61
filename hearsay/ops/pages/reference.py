"""Sections of the hand-written pages that follow from the registered mechanisms.

A page marks such a section by two comments; everything between them is replaced.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgpack

from hearsay.collector.survey.toml import dump
from hearsay.collector.wire.codec import Codec, codec
from hearsay.collector.wire.variant import VariantCodec
from hearsay.mechanisms import Mechanism, build, catalogue
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.layout import Variant

DOCS = Path(__file__).parents[3] / "docs"
START, END = "<!-- written by `make docs` -->", "<!-- end -->"


def page(name: str, *sections: str) -> str:
    """A page with its marked sections as they should be, in their order."""
    done, rest = "", (DOCS / name).read_text(encoding="utf-8")
    for section in sections:
        before, _, marked = rest.partition(START)
        done += f"{before}{START}\n{section}\n{END}"
        rest = marked.partition(END)[2]
    return done + rest


def survey_page() -> str:
    """docs/reference/survey.md: every kind of domain; every mechanism with its domains, its options and an example."""
    mechanisms = "\n\n".join(map(mechanism_section, catalogue.shipped()))
    return page("reference/survey.md", f"\n{domains_section(catalogue.shipped_domains())}\n", f"\n{mechanisms}\n")


def domains_section(domains: Iterable[type[Domain]]) -> str:
    """A row for every kind of domain."""
    rows = [(f"`{domain.KIND}`", domain.KEYS, domain.VALUE) for domain in domains]
    return table(("kind", "keys", "a value is"), rows)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    cells = [header, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    first, *others = (f"| {' | '.join(row)} |" for row in cells)
    return "\n".join([first, "|" + "---|" * len(header), *others])


def mechanism_section(name: str) -> str:
    """A mechanism with its kinds of domain, its options and an example."""
    mechanism = catalogue.classes(name)[0]
    lines = [f"### {mechanism.ID}", "", f"{_sentence(mechanism.SUMMARY)}", ""]
    lines += [f"Domains: {', '.join(f'`{kind}`' for kind in catalogue.kinds(name))}.", ""]
    if mechanism.OPTIONS:
        lines += ["| option | default | what it is |", "|---|---|---|"]
        for option in mechanism.OPTIONS:
            default = "none" if option.default is None else f"`{_plain(option.default)}`"
            lines.append(f"| `{option.name}` | {default} | {option.help.replace('|', chr(92) + '|')} |")
        lines.append("")
    lines += ["```toml", dump(_example(mechanism)).strip(), "```"]
    return "\n".join(lines)


def wire_page() -> str:
    """docs/reference/wire.md: what a report of every mechanism consists of and takes, on its first example."""
    lines = [
        "",
        "| mechanism | cells | a report | different reports | single, bytes | in a frame, bits |",
        "|---|---|---|---|---|---|",
    ]
    for name in catalogue.shipped():
        mechanism = catalogue.classes(name)[0]
        built = build({"mechanism": mechanism.ID, **mechanism.EXAMPLES[0]})
        wire = codec(built)
        fields = [_fields(variant) for variant in built.layout.variants]
        report = fields[0] if len(fields) == 1 else f"by `{built.layout.selector}`: {'; '.join(fields)}"
        sizes = ", ".join(map(_frame_bits, wire.variants))
        cells = (
            f"`{mechanism.ID}`",
            built.domain.size,
            report,
            f"{built.layout.outcomes:,}",
            _single_bytes(wire),
            sizes,
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return page("reference/wire.md", "\n".join(lines) + "\n")


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _example(mechanism: type[Mechanism]) -> dict[str, Any]:
    table = mechanism.EXAMPLES[0]
    return {"name": f"an-example-of-{mechanism.ID}".replace("+", "-plus"), "mechanism": mechanism.ID, **table}


def _fields(variant: Variant) -> str:
    parts = [f"`{scalar.name}` < {scalar.bound:,}" for scalar in variant.scalars]
    if variant.vector is not None:
        vector = variant.vector
        parts.append(f"{vector.length} {'bits' if vector.bound == 2 else f'digits < {vector.bound}'} `{vector.name}`")
    return ", ".join(parts)


def _frame_bits(variant: VariantCodec) -> str:
    """What a report takes in a frame: bits, or bits of a group and how many reports share them."""
    packing = variant.packing
    if packing is None:
        return str(8 * variant.row_bytes)
    return str(packing.bits) if packing.group == 1 else f"{packing.bits}/{packing.group}"


def _single_bytes(wire: Codec) -> int:
    """How long the longest single report is."""
    if not wire.single_integer:
        return 2 + max(variant.row_bytes for variant in wire.variants) + (len(wire.variants) > 1)
    return len(msgpack.packb(int(wire.offsets[-1]) - 1))
