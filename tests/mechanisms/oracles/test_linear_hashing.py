"""Hadamard randomised response and local hashing beyond the shared suite."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.layout import select
from hearsay.mechanisms.oracles.linear_hashing import LOW_TERMS, OWN_COUNT_FROM, LinearHashing


def hashing(name: str, size: int, epsilon: float = 1.1, **options: Any) -> LinearHashing:
    domain = {"kind": "categorical", "size": size}
    mechanism = build({"mechanism": name, "epsilon": epsilon, "domain": domain, "options": options})
    assert isinstance(mechanism, LinearHashing)
    return mechanism


@pytest.mark.parametrize("degree", [2, 3, 5, 8, 11, 16, 20, 28])
def test_polynomials_are_irreducible(degree: int) -> None:
    """x^(2^degree) = x, and x^(2^d) - x has no common factor with the polynomial for d = degree / prime."""
    modulus = 1 << degree | LOW_TERMS[degree]

    def times(a: int, b: int) -> int:
        product = 0
        while b:
            if b & 1:
                product ^= a
            a, b = a << 1, b >> 1
            if a >> degree & 1:
                a ^= modulus
        return product

    def common(a: int, b: int) -> int:
        while b:
            while a and a.bit_length() >= b.bit_length():
                a ^= b << (a.bit_length() - b.bit_length())
            a, b = b, a
        return a

    powers = [2 if degree > 1 else 1]
    for _ in range(degree):
        powers.append(times(powers[-1], powers[-1]))
    assert powers[degree] == powers[0]
    for prime in (2, 3, 5, 7, 11):
        if degree % prime == 0:
            assert common(modulus, powers[degree // prime] ^ powers[0]) == 1


@pytest.mark.parametrize(("size", "t"), [(8, 2), (16, 3), (32, 2)])
def test_every_pair_of_values_collides_for_the_same_number_of_vectors(size: int, t: int) -> None:
    mechanism = hashing("olh", size, t=t)
    vectors = np.arange(1, size, dtype=np.uint32)
    table = np.array([mechanism.hashed(vectors, np.full(size - 1, cell, dtype=np.uint32)) for cell in range(size)])
    for one in range(size):
        for other in range(one):
            assert (table[one] == table[other]).sum() == size // 2**t - 1


def test_hrr_is_local_hashing_with_one_bit() -> None:
    np.testing.assert_array_equal(hashing("hrr", 10).channel(), hashing("olh", 10, t=1).channel())


@pytest.mark.parametrize(("epsilon", "t"), [(0.1, 1), (1.1, 2), (2.5, 4), (5.0, 7)])
def test_olh_takes_the_hash_with_the_least_variance(epsilon: float, t: int) -> None:
    chosen = hashing("olh", 4096, epsilon)
    assert chosen.t == t
    errors = [hashing("olh", 4096, epsilon, t=other).predicted_stderr(100)["point"] for other in range(1, 9)]
    assert errors[t - 1] == min(errors)


def test_t_is_limited_by_the_domain() -> None:
    assert hashing("olh", 4, 5.0).canonical_options() == {"t": 2, "variant": "hashing"}


def test_the_norm_is_chosen_once_per_state() -> None:
    mechanism = hashing("hrr", 64)
    assert mechanism.expected_count(19 * 63) == 19 < OWN_COUNT_FROM
    reports = mechanism.perturb(np.zeros(3000, dtype=np.int64), seeded(1))
    few = mechanism.fold(mechanism.empty(), select(reports, slice(0, 19 * 63)))
    np.testing.assert_allclose(mechanism.spectrum(few)[1:] * mechanism.correlation * 19, few["sum"][1:], rtol=1e-12)
    many = mechanism.fold(mechanism.empty(), reports)
    np.testing.assert_allclose(
        mechanism.spectrum(many)[1:] * mechanism.correlation * many["count"][1:], many["sum"][1:], rtol=1e-12
    )


@pytest.mark.parametrize("t", [2, 3])
def test_the_dissertations_variant_reads_fewer_characters_and_errs_more(t: int) -> None:
    whole, part = (hashing("hrr", 64, t=t, variant=variant) for variant in ("hashing", "coefficients"))
    reports = whole.perturb(np.arange(5000) % 64, seeded(7))
    states = [mechanism.fold(mechanism.empty(), reports) for mechanism in (whole, part)]
    assert [int(state["count"].sum()) for state in states] == [5000 * (2**t - 1), 5000 * t]
    assert [mechanism.reports(state) for mechanism, state in zip((whole, part), states, strict=True)] == [5000, 5000]
    assert part.predicted_stderr(5000)["point"] > 1.15 * whole.predicted_stderr(5000)["point"]


def test_one_coefficient_is_the_best_of_the_dissertations_variant() -> None:
    """Kulkarni figure 4.10: HRR_1 offers the least variance."""
    errors = [hashing("hrr", 1024, t=t, variant="coefficients").predicted_stderr(100)["point"] for t in (1, 2, 3, 4)]
    assert errors == sorted(errors)


@pytest.mark.parametrize("mechanism_id", ["hrr", "olh"])
def test_few_reports_and_many_are_counted_alike(mechanism_id: str) -> None:
    """Few are added one by one, many by a histogram: parts must add up to the whole."""
    mechanism = hashing(mechanism_id, 4_096)
    reports = mechanism.perturb(np.arange(20_000) % 4_096, seeded(4))
    whole, parts = mechanism.fold(mechanism.empty(), reports), mechanism.empty()
    for start in range(0, 20_001, 50):  # the last part is empty
        mechanism.fold(parts, select(reports, slice(start, start + 50)))
    assert mechanism.reports(parts) == 20_000
    assert all(np.array_equal(whole[name], parts[name]) for name in whole)


def test_what_own_counts_explain_is_not_hidden_by_the_noise_of_expected_ones() -> None:
    """Everybody in one cell, hardly hidden: empty cells err by 6e-5, and said 69e-5."""
    mechanism = hashing("hrr", 1023, 10.0)
    reports = mechanism.perturb(np.zeros(50_000, dtype=np.int64), seeded(4))
    found: Any = mechanism.estimate(mechanism.fold(mechanism.empty(), reports))
    low, high = found.points(np.arange(1, 1023)).ends()
    assert ((high - low) / (2 * 1.96)).max() < 1.6e-4
    assert ((low <= 0) & (high >= 0)).mean() > 0.93
