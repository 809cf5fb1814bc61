"""Words by Zipf's law, and the names of the flights' destinations under three alphabets."""

from collections import Counter
from itertools import pairwise
from math import sqrt

import numpy as np

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.text.prefixes import Prefixes
from hearsay.ops.experiments.flights import flight_package
from hearsay.ops.experiments.output import Result
from hearsay.ops.experiments.text.draws import LETTERS, People, drawn, random_words, survey

WORDS, DEVICES, HEAVIEST, FAR_ABOVE = 5_000, 1_000_000, 20, 6.5
PIECES = 500


def zipf(runs: int, seed: int) -> Result:
    """5,000 words at epsilon 8: the heaviest are all told, and with a longer list nearly all that stand out."""
    result = Result(
        "zipf",
        f"{WORDS:,} words by Zipf's law, {DEVICES:,} devices, epsilon 8",
        ["texts", f"of the {HEAVIEST} heaviest", f"above {FAR_ABOVE} standard errors", "of these told", "false"],
        [],
        f"means of {runs} runs",
    )
    generator = np.random.default_rng([seed, 3])
    for texts in (32, 256):
        mechanism = survey(8.0, 8, LETTERS, texts=texts)
        weights = 1 / np.arange(1, WORDS + 1)
        heaviest, above, above_told, false = 0, 0, 0, 0
        for _ in range(runs):
            words = random_words(WORDS, 8, generator)
            people = People(
                mechanism.domain.code.encode(words), generator.multinomial(DEVICES, weights / weights.sum())
            )
            told = {code.tobytes() for code in drawn(mechanism, people, generator).told}
            names = [code.tobytes() in told for code in people.codes]
            far = people.shares > FAR_ABOVE * _errors(mechanism, people.shares)
            heaviest += sum(names[:HEAVIEST])
            above, above_told = above + int(far.sum()), above_told + int(np.array(names)[far].sum())
            false += len(told) - sum(names)
        share = above_told / above
        result.rows.append([texts, heaviest / runs, above / runs, f"{share:.1%}", false / runs])
        result.expect(heaviest == HEAVIEST * runs, f"with texts = {texts} {heaviest / runs:g} of {HEAVIEST} were told")
        result.expect(texts < 256 or share >= 0.99, f"with texts = {texts} {share:.1%} of those above were told")
    return result


def _errors(mechanism: Prefixes, f: Floats) -> Floats:
    """The standard errors of texts of such shares."""
    of_those_asked = mechanism.oracles[0].moments.variance(f) + f * (1 - f)
    return np.sqrt((mechanism.questions * of_those_asked - f * (1 - f)) / DEVICES)


def flights(runs: int, seed: int) -> Result:
    """Names of airports: symbols of several characters shorten texts, and so the error."""
    names = destinations()
    characters = sorted(set("".join(names)))
    result = Result(
        "flights",
        f"Names of {len(names)} destinations of {sum(names.values()):,} flights from New York, epsilon 4",
        ["alphabet", "symbols", "length", "questions", "standard error", "told", "false"],
        [],
        f"told and false: means of {runs} runs",
    )
    generator, errors = np.random.default_rng([seed, 4]), []
    for name, alphabet in (("bytes", None), ("characters", characters), ("pieces", pieces(list(names), PIECES))):
        length = max(len(_spelled(each, alphabet)) for each in names)
        mechanism = survey(4.0, length, alphabet or "bytes")
        people = People(mechanism.domain.code.encode(list(names)), np.array(list(names.values())))
        codes, right, wrong = {code.tobytes() for code in people.codes}, 0, 0
        for _ in range(runs):
            told = [code.tobytes() in codes for code in drawn(mechanism, people, generator).told]
            right, wrong = right + sum(told), wrong + len(told) - sum(told)
        errors.append(mechanism.predicted_stderr(int(people.counts.sum()))["point"])
        symbols = 256 if alphabet is None else len(alphabet)
        result.rows.append(
            [name, symbols, length, mechanism.questions, f"{errors[-1]:.2%}", right / runs, wrong / runs]
        )
        result.expect(wrong <= 0.1 * runs + 3 * sqrt(0.1 * runs), f"{name}: {wrong} false texts in {runs} runs")
    result.expect(errors[0] > errors[1] > errors[2], "a declared alphabet should have the smaller error")
    return result


def destinations() -> Counter[str]:
    """How many flights left New York for each airport, by its name."""
    package = flight_package()
    airports = dict(zip(package.airports["faa"], package.airports["name"], strict=True))
    return Counter(airports.get(code, code) for code in package.flights["dest"])


def pieces(texts: list[str], wanted: int) -> list[str]:
    """Symbols of one or several characters: the most frequent neighbours are joined, again and again."""
    spelled = [list(text) for text in texts]
    symbols = set("".join(texts))
    while len(symbols) < wanted:
        pairs = Counter(pair for text in spelled for pair in pairwise(text))
        if not pairs:
            break
        first, second = max(pairs, key=lambda pair: (pairs[pair], pair))
        symbols.add(first + second)
        spelled = [_joined(text, first, second) for text in spelled]
    return sorted(symbols)


def _joined(text: list[str], first: str, second: str) -> list[str]:
    joined: list[str] = []
    for symbol in text:
        if joined and symbol == second and joined[-1] == first:
            joined[-1] += symbol
        else:
            joined.append(symbol)
    return joined


def _spelled(text: str, alphabet: list[str] | None) -> list[str]:
    """A text's symbols, the longest match first; its bytes where there is no alphabet."""
    if alphabet is None:
        return [chr(octet) for octet in text.encode()]
    symbols, longest = [], sorted(alphabet, key=len, reverse=True)
    while text:
        symbols.append(next(symbol for symbol in longest if text.startswith(symbol)))
        text = text[len(symbols[-1]) :]
    return symbols
