"""How many bits a report needs."""

from math import log2

from hearsay.mechanisms.layout import Layout, Variant


def report_bits(layout: Layout) -> float:
    """The bits that the largest kind of report needs, its kind included."""
    return log2(len(layout.variants)) + max(map(_bits, layout.variants))


def _bits(variant: Variant) -> float:
    digits = variant.vector.length * log2(variant.vector.bound) if variant.vector else 0.0
    return log2(variant.alphabet) + digits
