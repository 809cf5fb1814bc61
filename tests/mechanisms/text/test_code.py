"""Codes of texts: fixed length, nothing lost, one value for all that is outside."""

import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearsay.mechanisms.catalogue import parse_domain
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.text.code import IMPOSSIBLE
from hearsay.mechanisms.text.domain import Text


def domain(**table: Any) -> Text:
    found: Text = parse_domain({"kind": "text", **table})
    return found


def decoded(of: Text, text: str) -> str | None:
    return of.code.decode(of.one(text)[0])


BYTES = domain(length=8)
LETTERS = domain(length=5, alphabet="abcdefghijklmnopqrstuvwxyz")
PIECES = domain(length=3, alphabet=["a", "ab", "b", "é", "://"])


@pytest.mark.parametrize(
    ("of", "symbols", "bits", "size"),
    [(BYTES, 256, 8, 8), (LETTERS, 26, 5, 4), (PIECES, 5, 3, 2), (domain(length=2, alphabet="ab"), 2, 2, 1)],
)
def test_a_symbol_takes_as_many_bits_as_its_alphabet_needs(of: Text, symbols: int, bits: int, size: int) -> None:
    assert (of.code.bits, of.code.size) == (bits, size)


@given(st.text(max_size=4))
def test_a_text_is_read_back_in_its_composed_form_or_is_outside(text: str) -> None:
    octets = unicodedata.normalize("NFC", text).encode("utf-8", "surrogatepass")
    allowed = len(octets) <= 8 and b"\0" not in octets and not any("\ud800" <= letter <= "\udfff" for letter in text)
    assert decoded(BYTES, text) == (unicodedata.normalize("NFC", text) if allowed else None)
    assert (BYTES.one(text)[0] == BYTES.code.outside).all() != allowed


@given(st.text(alphabet="abé:/x", max_size=7))
def test_the_longest_symbol_is_matched_first(text: str) -> None:
    symbols, rest = [], text
    while rest:
        match = next((symbol for symbol in ("://", "ab", "a", "b", "é") if rest.startswith(symbol)), None)
        if match is None:
            break
        symbols, rest = [*symbols, match], rest[len(match) :]
    assert decoded(PIECES, text) == (text if not rest and len(symbols) <= 3 else None)


@pytest.mark.parametrize("text", ["x" * 9, "\0", "a\0b", "\ud800", "a\udfffb", "é" * 5, "x" * 1_000_000, "e\u0301" * 5])
def test_what_is_no_text_of_the_domain_has_one_code(text: str) -> None:
    np.testing.assert_array_equal(BYTES.one(text)[0], BYTES.code.outside)


@given(st.lists(st.text(alphabet="abcx\0é", max_size=7), min_size=1), st.booleans())
def test_single_characters_are_read_all_at_once_as_one_by_one(texts: list[str], cut: bool) -> None:
    code = domain(length=4, alphabet="abcé", overlong="cut" if cut else "outside").code
    quick, plain = code._by_character(texts), code._by_match(texts)
    np.testing.assert_array_equal(quick[1], plain[1])
    np.testing.assert_array_equal(quick[0][~quick[1]], plain[0][~quick[1]])


def test_a_text_that_is_too_long_can_be_cut_at_the_end_of_a_character() -> None:
    cut = domain(length=4, overlong="cut")
    assert decoded(cut, "abcde") == "abcd"
    assert decoded(cut, "abcé") == "abc"
    assert decoded(cut, "ab\u20acd") == "ab"
    assert decoded(cut, "e\u0301" * 3) == "éé"
    assert decoded(domain(length=2, alphabet=["a", "bb"], overlong="cut"), "abba") == "abb"


def test_decomposed_accents_are_the_same_text() -> None:
    np.testing.assert_array_equal(BYTES.one("cafe\u0301"), BYTES.one("café"))


@pytest.mark.parametrize("of", [BYTES, LETTERS, PIECES, domain(length=3, alphabet="ab")], ids=str)
def test_the_search_may_reach_every_text_and_nothing_that_is_none(of: Text) -> None:
    words = ["", "a", "ab", "aba", "b"] + (["é", "a€", "😀", "a\U0010ffff"] if of is BYTES else [])
    codes = of.code.encode(words)
    states = np.full(len(codes), of.code.start(), dtype=np.int64)
    for level in range(1, of.code.size + 1):
        states = of.code.step(level, states)[np.arange(len(codes)), codes[:, level - 1]]
        assert (states != IMPOSSIBLE).all()
    # Whatever is walked at random is a text, or one that is spelled or normalised in another way, or a cut character.
    generator, walked = np.random.default_rng(1), []
    for _ in range(200):
        state, code = np.array([of.code.start()], dtype=np.int64), []
        for level in range(1, of.code.size + 1):
            after = of.code.step(level, state)[0]
            code.append(int(generator.choice(np.flatnonzero(after != IMPOSSIBLE))))
            state = after[code[-1:]]
        walked.append(of.code._decoded(np.array(code, dtype=np.uint8)))
        outside = np.array_equal(np.array(code, dtype=np.uint8), of.code.outside)
        assert not outside
    assert sum(text is not None for text in walked) > (50 if of is BYTES else 199)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "domain.length must be an integer in 1..256, got None"),
        ({"length": 257}, "domain.length must be an integer in 1..256, got 257"),
        ({"length": True}, "domain.length must be an integer in 1..256, got True"),
        ({"length": 4, "overlong": "drop"}, "domain.overlong must be one of outside, cut, got 'drop'"),
        ({"length": 4, "alphabet": []}, "domain.alphabet must be a list that is not empty, got []"),
        ({"length": 4, "alphabet": ""}, "domain.alphabet must have 1..65534 symbols, got 0"),
        ({"length": 4, "alphabet": ["a", ""]}, "domain.alphabet must be a text, or a list of texts that are not empty"),
        ({"length": 4, "alphabet": "aba"}, "domain.alphabet must have different symbols, got one twice"),
        ({"length": 4, "alphabet": ["é", "e\u0301"]}, "domain.alphabet must have different symbols, got one twice"),
        ({"length": 4, "alphabet": ["\0"]}, "domain.alphabet must have no NUL and no lone surrogate"),
        ({"length": 4, "size": 3}, "domain has the unknown key 'size'; allowed: alphabet, kind, length, overlong"),
    ],
)
def test_a_domain_that_cannot_be_is_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecificationError) as caught:
        domain(**table)
    assert str(caught.value) == message


@pytest.mark.parametrize("alphabet", ["bytes", "abc", ["b", "y", "t", "e", "s"], ["a", "bc"]])
def test_the_canonical_table_is_read_back(alphabet: Any) -> None:
    made = domain(length=3, alphabet=alphabet)
    assert parse_domain(made.table()) == made
    assert made.table()["alphabet"] == alphabet
