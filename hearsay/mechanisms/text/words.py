"""Words for simulated devices: invented words if the alphabet has letters, otherwise sequences of its symbols."""

from collections.abc import Sequence
from itertools import chain, islice, product

WORDS = 1000
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


def simulated_words(length: int, alphabet: Sequence[str] | None) -> list[str]:
    """At most 1000 different texts of a domain, the same on every machine."""
    if length >= 4 and (alphabet is None or set("".join(_SYLLABLES)) <= set(alphabet)):
        words = ["".join(pair) for pair in product(_SYLLABLES, repeat=2)]
        return words[:: len(words) // WORDS][:WORDS]
    symbols = "abcdefghijklmnopqrstuvwxyz" if alphabet is None else alphabet
    sequences = chain.from_iterable(product(symbols, repeat=symbols_used) for symbols_used in range(length + 1))
    return list(dict.fromkeys("".join(sequence) for sequence in islice(sequences, WORDS)))
