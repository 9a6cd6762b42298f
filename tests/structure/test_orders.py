"""The order search: it reaches the proved optimum, keeps to constraints, repeats itself, and can be stopped."""

from __future__ import annotations

import numpy as np
import pytest

from jaxbn.scores.extension_sums import DeviceCounter
from jaxbn.scores.set_scores import SetScores
from jaxbn.structure.arc_rules import ArcRules, bits
from jaxbn.structure.exact import exact_structure
from jaxbn.structure.family_pool import FamilyPool, pools_of
from jaxbn.structure.order_moves import Order
from jaxbn.structure.orders import order_structure
from jaxbn.structure.result import Structure
from tests.helpers.coded_columns import coded, random_columns
from tests.reference import structure as reference


def test_it_reaches_the_proved_optimum() -> None:
    rng = np.random.default_rng(0)
    reached = 0
    for n_columns in (8, 10, 12, 14, 14, 15):
        scores = SetScores(random_columns(rng, n_columns, 300))
        rules = ArcRules.of(scores.n_states, max_parents=3)
        best, found = exact_structure(scores, rules), order_structure(scores, rules)
        assert reference.acyclic(found.parents)
        assert found.score <= min(best.score, found.bound) + 1e-9
        reached += found.score > best.score - 1e-9
    assert reached >= 5


@pytest.mark.parametrize("trial", range(6))
def test_constraints(trial: int) -> None:
    rng = np.random.default_rng(100 + trial)
    columns = random_columns(rng, 7, 100)
    order = [int(i) for i in rng.permutation(7) if columns[i].n_states > 1]
    required = {order[-1]: [order[0], order[1]], order[1]: [order[0]]}
    forbidden = [(order[2], order[3]), (order[3], order[2]), (order[0], order[4])]
    cells = 30 if trial % 2 else None
    rules = ArcRules.of(
        [c.n_states for c in columns], max_parents=3, required=required, forbidden=forbidden, max_cells=cells
    )
    scores = SetScores(columns, parent_prior=bool(trial % 3))
    found, best = order_structure(scores, rules, patience=40), exact_structure(scores, rules)
    for child, parents in enumerate(found.parents):
        assert rules.permits(child, sum(1 << p for p in parents))
    assert reference.acyclic(found.parents)
    assert found.score == pytest.approx(best.score, abs=1e-9)


def test_same_seed_same_result_on_any_counter() -> None:
    columns = random_columns(np.random.default_rng(3), 12, 150)
    rules = ArcRules.of([c.n_states for c in columns], max_parents=2)
    found = [order_structure(SetScores(columns), rules, seed=5, starts=1, patience=5) for _ in range(2)]
    on_device = order_structure(SetScores(columns, counter=DeviceCounter), rules, seed=5, starts=1, patience=5)
    assert found[0] == found[1] == on_device


def test_more_columns_than_a_word_has_bits() -> None:
    rng = np.random.default_rng(4)
    columns = [coded(rng.integers(0, 2, 80)) for _ in range(66)]
    columns += [coded(columns[i].codes ^ (rng.random(80) < 0.05)) for i in (0, 65)]
    rules = ArcRules.of([2] * 68, max_parents=1)
    scores = SetScores(columns)
    found = order_structure(scores, rules, starts=1, patience=2)
    arcs = {frozenset((p, child)) for child, parents in enumerate(found.parents) for p in parents}
    assert {frozenset((0, 66)), frozenset((65, 67))} <= arcs


def test_it_can_be_stopped_and_tells_every_best() -> None:
    columns = random_columns(np.random.default_rng(6), 14, 300)
    rules = ArcRules.of([c.n_states for c in columns], max_parents=3)
    asked, told = [0], list[Structure]()

    def stop() -> bool:
        asked[0] += 1
        return asked[0] > 3

    found = order_structure(SetScores(columns), rules, should_stop=stop, watch=told.append)
    assert not found.finished
    assert reference.acyclic(found.parents)
    assert told == [found]
    told.clear()
    found = order_structure(SetScores(columns), rules, watch=told.append)
    assert found.finished
    assert [one.score for one in told] == sorted(one.score for one in told)
    assert told[-1].score == found.score


def test_it_begins_with_a_given_order() -> None:
    columns = random_columns(np.random.default_rng(7), 10, 200)
    scores = SetScores(columns)
    rules = ArcRules.of(scores.n_states, max_parents=3)
    best = exact_structure(scores, rules)
    placed: list[int] = []
    while len(placed) < 10:
        placed += [i for i in range(10) if i not in placed and set(best.parents[i]) <= set(placed)][:1]
    found = order_structure(scores, rules, starts=1, patience=0, first=placed)
    assert found.score == pytest.approx(best.score, abs=1e-9)


def test_a_move_is_worth_what_it_says() -> None:
    rng = np.random.default_rng(8)
    scores = SetScores(random_columns(rng, 9, 200))
    pools = pools_of(scores, ArcRules.of(scores.n_states, max_parents=2))
    for _ in range(30):
        start = [int(i) for i in rng.permutation(9)]
        column = int(rng.integers(9))
        values = []
        for place in range(9):
            order = Order(pools, start)
            order.move(column, place)
            assert order.columns == [*(others := [i for i in start if i != column])[:place], column, *others[place:]]
            values.append(order.value())
        order = Order(pools, start)
        moved = order.insert_best(column)
        assert order.value() == max(values)
        assert moved == (max(values) > Order(pools, start).value())
        before = order.value()
        assert order.rearrange(2) == (order.value() > before)


def test_the_best_family_of_a_pool_is_the_best_of_all_small_ones() -> None:
    scores = SetScores(random_columns(np.random.default_rng(9), 8, 150))
    pool = FamilyPool(0, scores, ArcRules.of(scores.n_states, max_parents=1))
    for before in range(0, 256, 2):
        families = [(), *((i,) for i in bits(before) if scores.n_states[i] > 1 and scores.n_states[0] > 1)]
        best = max(scores.family(0, parents) for parents in families)
        assert scores.family(0, tuple(bits(pool.best(before)[1]))) == best
