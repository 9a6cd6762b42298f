"""EM against the same rounds by enumeration of all completions."""

from __future__ import annotations

import numpy as np
import pytest

from jaxbn.model.inference import em
from jaxbn.model.inference.em import Counter, fit_by_em
from jaxbn.model.inference.network import network
from jaxbn.runtime.memory import at_most
from jaxbn.scores.tables import family_counts, posterior_means
from tests.helpers.random_networks import random_network
from tests.reference import holes


def holed(seed: int, n_rows: int = 25, share: float = 0.3):
    net = random_network(seed, most=5).network
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, net.structure.sizes, size=(n_rows, len(net.tables))).astype(np.int32)
    codes[rng.random(codes.shape) < share] = -1
    return net.structure, codes


def uniform(structure):
    shapes = [[structure.sizes[v] for v in family] for family in structure.families]
    return [np.full(shape, 1 / shape[-1]) for shape in shapes]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_rounds_equal_enumeration(seed, alpha):
    structure, codes = holed(seed)
    tables = uniform(structure)
    found = fit_by_em(structure, codes, alpha, start=network(structure.parents, tables), tolerance=-1.0, max_rounds=5)
    objectives = []
    for _ in range(6):
        before = tables
        tables, objective = holes.em_round(structure.parents, tables, codes, alpha)
        objectives.append(objective)
    np.testing.assert_allclose(found.trace, objectives, atol=1e-9)
    for ours, theirs in zip(found.network.tables, before, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
    assert not found.converged


def said_of(structure, codes, seed: int):
    """Evidence of the states of every other variable, some states being next to impossible."""
    rng = np.random.default_rng(seed)
    return {v: rng.normal(scale=4, size=(len(codes), structure.sizes[v])) for v in range(0, len(structure.sizes), 2)}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("max_memory", "tiny"), [(2e9, 1e-200), (3e4, 1e-200), (2e9, 1.0)])  # the last by logarithms
def test_rounds_with_evidence_equal_enumeration(seed, max_memory, tiny, monkeypatch):
    monkeypatch.setattr("jaxbn.model.inference.tasks.TINY", tiny)
    structure, codes = holed(seed)
    codes[1] = codes[0] = -1  # two rows of the same codes and other evidence
    tables, evidence = uniform(structure), said_of(structure, codes, seed)
    start = network(structure.parents, tables)
    with at_most(max_memory):
        found = fit_by_em(structure, codes, start=start, evidence=evidence, tolerance=-1.0, max_rounds=5)
    objectives = []
    for _ in range(6):
        before = tables
        tables, objective = holes.em_round(structure.parents, tables, codes, 1.0, evidence)
        objectives.append(objective)
    np.testing.assert_allclose(found.trace, objectives, atol=1e-9)
    for ours, theirs in zip(found.network.tables, before, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("with_evidence", [False, True])
def test_the_objective_never_falls(seed, with_evidence):
    structure, codes = holed(seed + 100, n_rows=60, share=0.1 + 0.04 * seed)
    found = fit_by_em(structure, codes, 0.5, evidence=said_of(structure, codes, seed) if with_evidence else None)
    assert found.converged
    assert (np.diff(found.trace) >= -1e-9).all()


def test_without_a_prior_the_observed_log_likelihood_never_falls():
    structure, codes = holed(7, n_rows=200, share=0.3)
    start = uniform(structure)
    found = fit_by_em(structure, codes, 1e-9, start=network(structure.parents, start))
    assert (np.diff(found.trace) >= -1e-9).all()
    assert found.log_likelihood == pytest.approx(found.trace[-1], abs=1e-4)


@pytest.mark.parametrize("with_evidence", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_rows_summed_without_their_barren_variables_lead_to_the_same_tables(seed, with_evidence, monkeypatch):
    structure, codes = holed(seed, n_rows=120)
    evidence = said_of(structure, codes, seed) if with_evidence else None
    usual = fit_by_em(structure, codes, evidence=evidence, tolerance=0.0, max_rounds=5000)
    # no row is cheap enough with its barren variables, and every one without
    cheapest, budgets = em._cheapest, iter([0, 10**9])
    monkeypatch.setattr(em, "_cheapest", lambda tasks, _: cheapest(tasks, next(budgets)))
    counter = Counter(structure, codes, evidence=evidence)
    assert counter.left_out == 0
    found = fit_by_em(structure, codes, tolerance=0.0, max_rounds=5000, counter=counter)
    assert found.log_likelihood == pytest.approx(usual.log_likelihood, abs=1e-4)
    for ours, theirs in zip(found.network.tables, usual.network.tables, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_it_ends_where_a_further_round_changes_nothing():
    structure, codes = holed(11, n_rows=50)
    found = fit_by_em(structure, codes, tolerance=0.0, max_rounds=5000)
    again = [posterior_means(counts, 1.0) for counts in found.counts]
    for table, next_table in zip(found.network.tables, again, strict=True):
        np.testing.assert_allclose(table, next_table, atol=1e-6)


def test_without_holes_it_is_counting():
    structure, codes = holed(5, share=0.0)
    found = fit_by_em(structure, codes, [0.5 + v for v in range(len(structure.sizes))])
    assert found.converged
    for v, family in enumerate(structure.families):
        shape = [structure.sizes[u] for u in family]
        counts = family_counts(codes[:, v], [codes[:, u] for u in family[:-1]], shape)
        np.testing.assert_array_equal(found.network.tables[v], posterior_means(counts, 0.5 + v))


def test_an_interrupt_keeps_the_best_so_far(monkeypatch, caplog):
    structure, codes = holed(6, n_rows=80)
    usual, calls = Counter.expected, []

    def interrupted(self, now):
        calls.append(now)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return usual(self, now)

    monkeypatch.setattr(em.Counter, "expected", interrupted)
    found = fit_by_em(structure, codes, tolerance=0.0)
    assert len(found.trace) == 3
    assert found.network is calls[2]
    assert not found.converged
    assert "2 rounds of EM" in caplog.text
    calls[:] = [None] * 3
    with pytest.raises(KeyboardInterrupt):
        fit_by_em(structure, codes)


def test_two_columns_never_seen_together_stay_independent():
    codes = np.array([[0, -1]] * 6 + [[1, -1]] * 4 + [[-1, 0]] * 5 + [[-1, 1]] * 5, np.int32)
    found = fit_by_em(em.Structure(((), (0,)), (2, 2)), codes)
    np.testing.assert_allclose(found.network.tables[1][0], found.network.tables[1][1], atol=1e-9)
