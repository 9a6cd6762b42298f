"""Rows with missing entries against the enumeration of all their completions."""

from __future__ import annotations

import numpy as np
import pytest

from jaxbn.model.inference.answers import draw_completions, log_likelihood, log_posterior, most_probable_completions
from jaxbn.model.inference.em import Counter
from jaxbn.model.inference.network import network
from jaxbn.runtime.memory import at_most
from tests.helpers.random_networks import random_network
from tests.reference import holes

SEEDS = range(12)


def holed(seed: int, n_rows: int = 40):
    """A random network, and rows of it from no to all entries missing."""
    net = random_network(seed, most=6).network
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, net.structure.sizes, size=(n_rows, len(net.tables))).astype(np.int32)
    codes[rng.random(codes.shape) < rng.random((n_rows, 1))] = -1
    codes[0], codes[1] = -1, 0
    return net, codes


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("max_memory", [2e9, 3e4])
def test_log_likelihood_equals_enumeration(seed, max_memory):
    net, codes = holed(seed)
    expected = [np.log(holes.posterior(net.structure.parents, net.tables, row)[1]) for row in codes]
    with at_most(max_memory):
        np.testing.assert_allclose(log_likelihood(net, codes), expected, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("max_memory", [2e9, 3e4])
def test_expected_counts_equal_enumeration(seed, max_memory):
    net, codes = holed(seed)
    counts, total = holes.expected_counts(net.structure.parents, net.tables, codes)
    with at_most(max_memory):
        found = Counter(net.structure, codes).expected(net)
    assert found.log_likelihood == pytest.approx(total, abs=1e-10)
    for ours, theirs in zip(found.counts, counts, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_posterior_of_a_variable_equals_enumeration(seed):
    net, codes = holed(seed)
    target = seed % len(net.tables)
    logs = log_posterior(net, codes, target)
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    for row, chance in zip(codes, chances, strict=True):
        without = [-1 if v == target else int(c) for v, c in enumerate(row)]
        expected = np.zeros(len(chance))
        for full, p in holes.posterior(net.structure.parents, net.tables, without)[0].items():
            expected[full[target]] += p
        np.testing.assert_allclose(chance, expected, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("max_memory", [2e9, 3e4])
def test_most_probable_completions_are_those_of_enumeration(seed, max_memory):
    net, codes = holed(seed)
    with at_most(max_memory):
        found = most_probable_completions(net, codes)
    assert found.dtype == codes.dtype
    assert ((codes < 0) | (found == codes)).all()
    for row, filled in zip(codes, found, strict=True):
        chances, _ = holes.posterior(net.structure.parents, net.tables, row)
        assert chances[tuple(filled.tolist())] == pytest.approx(max(chances.values()), rel=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("max_memory", [2e9, 3e4])
def test_draws_have_the_posterior_of_enumeration(seed, max_memory):
    net, codes = holed(seed, n_rows=6)
    n = 3000
    with at_most(max_memory):
        drawn = draw_completions(net, np.repeat(codes, n, axis=0), seed)
    for i, row in enumerate(codes):
        chances, _ = holes.posterior(net.structure.parents, net.tables, row)
        sizes = net.structure.sizes
        cells = np.ravel_multi_index(tuple(drawn[i * n : (i + 1) * n].T), sizes)
        seen = np.bincount(cells, minlength=int(np.prod(sizes)))
        expected = np.zeros(len(seen))
        for full, p in chances.items():
            expected[np.ravel_multi_index(full, sizes)] = n * p
        assert (seen[expected == 0] == 0).all()
        often = expected > 5
        rest = [seen[often], expected[often]]
        chi = ((rest[0] - rest[1]) ** 2 / rest[1]).sum()
        freedom = max(1, often.sum() - 1)
        assert chi < freedom + 6 * np.sqrt(2 * freedom) + 6


def test_draws_are_the_seeds_and_keep_what_is_there():
    net, codes = holed(3)
    first, again, other = (draw_completions(net, codes, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert first.dtype == codes.dtype
    assert (first >= 0).all()
    assert ((codes < 0) | (first == codes)).all()


def test_a_row_is_drawn_the_same_whatever_rows_come_after_it():
    net, codes = holed(4)
    np.testing.assert_array_equal(draw_completions(net, codes, 5)[:10], draw_completions(net, codes[:10], 5))


def test_a_counter_serves_one_network_after_the_other():
    net, codes = holed(5)
    counter = Counter(net.structure, codes)
    other = network(net.structure.parents, [np.full(t.shape, 1 / t.shape[-1]) for t in net.tables])
    for each in (net, other, net):
        ours, fresh = counter.expected(each), Counter(each.structure, codes).expected(each)
        assert ours.log_likelihood == fresh.log_likelihood
        for a, b in zip(ours.counts, fresh.counts, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_hidden_class_of_many_children_does_not_underflow():
    n = 600
    rare = np.array([[1e-4, 1 - 1e-4], [2e-4, 1 - 2e-4]])
    net = network([(), *[(0,)] * n], [np.array([0.5, 0.5]), *[rare] * (n // 2), *[rare[::-1]] * (n // 2)])
    codes = np.array([[-1, *[0] * n]])
    assert log_likelihood(net, codes)[0] == pytest.approx(n / 2 * np.log(2e-8), rel=1e-12)
    np.testing.assert_allclose(Counter(net.structure, codes).expected(net).counts[0], [0.5, 0.5], rtol=1e-9)


def test_impossible_rows_have_no_counts_and_a_likelihood_of_minus_infinity():
    net = network([(), (0,)], [np.array([0.5, 0.5]), np.array([[1.0, 0.0], [1.0, 0.0]])])
    codes = np.array([[-1, 1], [-1, 0]])
    np.testing.assert_allclose(log_likelihood(net, codes), [-np.inf, 0.0])
    with pytest.raises(ValueError, match="probability 0"):
        Counter(net.structure, codes).expected(net)


def test_a_component_that_does_not_fit_is_refused_with_its_size():
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.ones(2), size=[4] * 8)
    net = network([*[()] * 8, tuple(range(8))], [*[np.full(4, 0.25)] * 8, table])
    said = r"summing out what is not known needs .* 524 kB.*leave out rows"
    with at_most(1e5), pytest.raises(MemoryError, match=said):
        log_likelihood(net, np.array([[-1] * 8 + [0]]))


def test_no_rows():
    net, codes = holed(0)
    assert log_likelihood(net, codes[:0]).shape == (0,)
    assert draw_completions(net, codes[:0]).shape == codes[:0].shape
    assert Counter(net.structure, codes[:0]).expected(net).log_likelihood == 0.0
