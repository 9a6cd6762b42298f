"""The exact search: against all graphs, an independent dynamic program, ties, and its refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jaxbn
from jaxbn.counts.codes import Column
from jaxbn.inputs.table import as_table
from jaxbn.scores.evidence import ARC_CHARGE
from jaxbn.scores.set_scores import SetScores
from jaxbn.structure.constraints import Constraints, Rules
from jaxbn.structure.exact import exact_structure
from tests.helpers.coded_columns import coded, numbered_rules, random_columns
from tests.reference import structure as reference


def drawn_constraints(rng: np.random.Generator, columns: list[Column]) -> dict[str, Any]:
    """Some required and forbidden arcs along and against a random order, and a limit to cells."""
    order = [int(i) for i in rng.permutation(len(columns)) if columns[i].n_states > 1]
    pairs = [(order[i], order[j]) for i in range(len(order)) for j in range(i + 1, len(order))]
    required = [pair for pair in pairs if rng.random() < 0.15]
    others = [arc for pair in pairs for arc in (pair, pair[::-1]) if arc not in required]
    return {
        "required": required,
        "forbidden": [arc for arc in others if rng.random() < 0.2],
        "max_cells": int(rng.choice([6, 12, 24, 10**6])) if not required else 10**6,
    }


def rules_of(columns: list[Column], max_parents: int, given: dict[str, Any]) -> Rules:
    required: dict[int, list[int]] = {}
    for parent, child in given.get("required", []):
        required.setdefault(child, []).append(parent)
    return numbered_rules(
        [c.n_states for c in columns],
        max_parents=max_parents,
        required=required,
        forbidden=given.get("forbidden", []),
        max_cells=given.get("max_cells"),
    )


def test_all_graphs_of_up_to_four_columns() -> None:
    rng = np.random.default_rng(0)
    for trial in range(200):
        n_columns = int(rng.integers(1, 5))
        columns = random_columns(rng, n_columns, int(rng.integers(1, 60)))
        given = drawn_constraints(rng, columns) if trial % 2 else {}
        max_parents = 3 if given.get("required") else int(rng.integers(0, 4))
        prior, weight = bool(rng.random() < 0.5), (1.0, 0.5)[trial // 2 % 2]
        family = reference.allowed_families([c.codes for c in columns], max_parents, prior=prior, a=weight, **given)
        best, arcs = reference.best_of_all_graphs(n_columns, family)
        scores = SetScores(columns, weight=weight, arc_charge=ARC_CHARGE * prior)
        found = exact_structure(scores, rules_of(columns, max_parents, given))
        assert reference.acyclic(found.parents)
        assert found.score == pytest.approx(best, abs=1e-8)
        assert sum(family(v, frozenset(p)) for v, p in enumerate(found.parents)) == pytest.approx(best, abs=1e-8)
        assert sum(map(len, found.parents)) == arcs
        assert found.proved
        assert found.bound <= found.score


@pytest.mark.parametrize("n_columns", [8, 10, 12])
def test_independent_dynamic_program(n_columns: int) -> None:
    rng = np.random.default_rng(n_columns)
    columns = random_columns(rng, n_columns, 150)
    given = drawn_constraints(rng, columns) if n_columns == 10 else {}
    max_parents = 4 if n_columns == 8 else 2
    given.pop("required", None)
    family = reference.allowed_families([c.codes for c in columns], max_parents, **given)
    found = exact_structure(SetScores(columns), rules_of(columns, max_parents, given))
    assert found.score == pytest.approx(reference.best_by_subsets(n_columns, family), abs=1e-8)
    assert reference.acyclic(found.parents)


def test_ties_have_the_fewest_arcs_and_the_first_columns() -> None:
    rng = np.random.default_rng(1)
    x = coded(rng.integers(0, 2, 100))
    copies = [x, coded(1 - x.codes), coded(x.codes), coded(np.zeros(100, int))]
    found = exact_structure(SetScores(copies), numbered_rules([2, 2, 2, 1], max_parents=3))
    assert found.parents == ((), (0,), (0,), ())


def test_columns_of_one_state_do_not_count_as_columns() -> None:
    columns = [coded(np.zeros(5, int)) for _ in range(30)]
    found = exact_structure(SetScores(columns), numbered_rules([1] * 30, max_parents=3))
    assert sum(map(len, found.parents)) == 0
    assert found.score == 0


def test_rules_from_names() -> None:
    columns = {name: coded(np.arange(6) % 3) for name in "abc"}
    given = Rules(("a", "b", "c"), 2, {"c": ("a",)}, frozenset({("b", "a")}), 9)
    rules = given.of_columns(columns)
    numbered = numbered_rules([3, 3, 3], max_parents=2, required={2: [0]}, forbidden=[(1, 0)], max_cells=9)
    assert (rules.must, rules.never, rules.allowed) == (numbered.must, numbered.never, numbered.allowed)
    assert exact_structure(SetScores(list(columns.values())), rules).parents[2] == (0,)


def test_too_many_columns_are_refused_with_the_remedy() -> None:
    columns = [coded(np.array([0, 1, i % 2])) for i in range(21)]
    rules = numbered_rules([2] * 21, max_parents=1)
    with pytest.raises(ValueError, match=r"up to 20 .* and 21 have .* search='orders'"):
        exact_structure(SetScores(columns), rules)


def test_too_many_parents_are_refused_with_the_remedy() -> None:
    columns = [coded(np.array([0, 1, i % 2])) for i in range(20)]
    with pytest.raises(ValueError, match=r"max_parents 12 and 20 columns.* lower `max_parents`"):
        exact_structure(SetScores(columns), numbered_rules([2] * 20, max_parents=12))


def test_required_arcs_in_a_cycle_are_refused() -> None:
    with pytest.raises(ValueError, match="cycle"):
        Constraints(required=[("a", "b"), ("b", "a")]).rules(as_table({"a": [0, 1], "b": [0, 1]}))


def test_the_prior_keeps_arcs_away() -> None:
    rng = np.random.default_rng(2)
    tables = [[coded(rng.integers(0, 3, 100)) for _ in range(3)] for _ in range(60)]
    rules = numbered_rules([3] * 3, max_parents=2)
    without = sum(any(exact_structure(SetScores(t), rules).parents) for t in tables)
    with_prior = sum(any(exact_structure(SetScores(t, arc_charge=ARC_CHARGE), rules).parents) for t in tables)
    assert with_prior <= without <= 15


def test_a_short_table_with_too_many_families_is_searched_by_orders() -> None:
    """Few rows allowed more sets than the exact search takes, which then refused what nobody had asked it for."""
    rng = np.random.default_rng(0)
    data = {f"c{i:02d}": rng.integers(0, 2, 60) for i in range(20)}
    net = jaxbn.learn(data, max_parents=9, restarts=1, time_limit=5, progress=False)
    assert set(net.names) == set(data)
