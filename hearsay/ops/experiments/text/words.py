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

WORDS, DEVICES, MOST_FREQUENT, STANDARD_ERRORS = 5_000, 1_000_000, 20, 6.5
PIECES = 500


def zipf(runs: int, seed: int) -> Result:
    """5,000 words at epsilon 8: the most frequent are detected, and with a longer list nearly all clearly above 0."""
    result = Result(
        "zipf",
        f"How many of {WORDS:,} words by Zipf's law are detected, {DEVICES:,} devices, epsilon 8",
        [
            "texts",
            f"detected of the {MOST_FREQUENT} most frequent",
            f"words above {STANDARD_ERRORS} standard errors",
            "detected of these",
            "false",
        ],
        [],
        f"means of {runs} runs; texts: the option of the mechanism; false: detected words that are none of them",
    )
    generator = np.random.default_rng([seed, 3])
    for texts in (32, 256):
        mechanism = survey(8.0, 8, LETTERS, texts=texts)
        weights = 1 / np.arange(1, WORDS + 1)
        frequent_detected, above, above_detected, false = 0, 0, 0, 0
        for _ in range(runs):
            words = random_words(WORDS, 8, generator)
            people = People(
                mechanism.domain.code.encode(words), generator.multinomial(DEVICES, weights / weights.sum())
            )
            detected = {code.tobytes() for code in drawn(mechanism, people, generator).detected}
            is_detected = [code.tobytes() in detected for code in people.codes]
            is_above = people.shares > STANDARD_ERRORS * _errors(mechanism, people.shares)
            frequent_detected += sum(is_detected[:MOST_FREQUENT])
            above += int(is_above.sum())
            above_detected += int(np.array(is_detected)[is_above].sum())
            false += len(detected) - sum(is_detected)
        share, frequent = above_detected / above, frequent_detected / runs
        result.rows.append([texts, frequent, above / runs, f"{share:.1%}", false / runs])
        result.expect(
            frequent == MOST_FREQUENT, f"with texts = {texts} {frequent:g} of {MOST_FREQUENT} words are detected"
        )
        result.expect(texts < 256 or share >= 0.99, f"with texts = {texts} {share:.1%} of those above are detected")
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
        f"How many of {len(names)} names of airports are detected, {sum(names.values()):,} flights, epsilon 4",
        ["alphabet", "symbols", "length", "questions", "standard error", "detected", "false"],
        [],
        f"means of {runs} runs; false: detected names of no airport",
    )
    generator, errors = np.random.default_rng([seed, 4]), []
    for name, alphabet in (("bytes", None), ("characters", characters), ("pieces", pieces(list(names), PIECES))):
        length = max(len(_spelled(each, alphabet)) for each in names)
        mechanism = survey(4.0, length, alphabet or "bytes")
        people = People(mechanism.domain.code.encode(list(names)), np.array(list(names.values())))
        codes, right, wrong = {code.tobytes() for code in people.codes}, 0, 0
        for _ in range(runs):
            is_right = [code.tobytes() in codes for code in drawn(mechanism, people, generator).detected]
            right, wrong = right + sum(is_right), wrong + len(is_right) - sum(is_right)
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
    """Symbols of one or several characters: the most frequent pair of neighbours is joined, repeatedly."""
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
    """A text's symbols, the longest match first; its bytes if there is no alphabet."""
    if alphabet is None:
        return [chr(octet) for octet in text.encode()]
    symbols, longest = [], sorted(alphabet, key=len, reverse=True)
    while text:
        symbols.append(next(symbol for symbol in longest if text.startswith(symbol)))
        text = text[len(symbols[-1]) :]
    return symbols
