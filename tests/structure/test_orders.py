"""The order search: it reaches the proved optimum, keeps to constraints, repeats itself, and can be stopped."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from jaxbn.counts.device import DeviceCounter
from jaxbn.scores.evidence import ARC_CHARGE
from jaxbn.scores.set_scores import SetScores
from jaxbn.structure.constraints import Rules, bits
from jaxbn.structure.cycle_bound import _Ascent, cycle_bound
from jaxbn.structure.exact import exact_structure
from jaxbn.structure.families import ARC_BITS, FamilyPool, FamilyTable, pools_of
from jaxbn.structure.order_moves import Blocks, arranged, climb, insertion_gains
from jaxbn.structure.orders import order_structure
from jaxbn.structure.search import ArcSearch
from tests.helpers.coded_columns import coded, numbered_rules, random_columns
from tests.reference import structure as reference


def test_it_reaches_the_proved_optimum() -> None:
    rng = np.random.default_rng(0)
    reached = 0
    for n_columns in (8, 10, 12, 14, 14, 15):
        scores = SetScores(random_columns(rng, n_columns, 300))
        rules = numbered_rules(scores.n_states, max_parents=3)
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
    rules = numbered_rules(
        [c.n_states for c in columns], max_parents=3, required=required, forbidden=forbidden, max_cells=cells
    )
    scores = SetScores(columns, arc_charge=ARC_CHARGE * bool(trial % 3))
    found, best = order_structure(scores, rules, patience=40), exact_structure(scores, rules)
    for child, parents in enumerate(found.parents):
        assert rules.permits(child, sum(1 << p for p in parents))
    assert reference.acyclic(found.parents)
    assert found.score == pytest.approx(best.score, abs=1e-9)


def test_same_seed_same_result_on_any_counter() -> None:
    columns = random_columns(np.random.default_rng(3), 12, 150)
    rules = numbered_rules([c.n_states for c in columns], max_parents=2)
    found = [order_structure(SetScores(columns), rules, seed=5, starts=1, patience=5) for _ in range(2)]
    on_device = order_structure(SetScores(columns, counter=DeviceCounter), rules, seed=5, starts=1, patience=5)
    assert found[0] == found[1] == on_device


def test_more_columns_than_a_word_has_bits() -> None:
    rng = np.random.default_rng(4)
    columns = [coded(rng.integers(0, 2, 80)) for _ in range(66)]
    columns += [coded(columns[i].codes ^ (rng.random(80) < 0.05)) for i in (0, 65)]
    rules = numbered_rules([2] * 68, max_parents=1)
    scores = SetScores(columns)
    found = order_structure(scores, rules, starts=1, patience=2)
    arcs = {frozenset((p, child)) for child, parents in enumerate(found.parents) for p in parents}
    assert {frozenset((0, 66)), frozenset((65, 67))} <= arcs


def test_it_can_be_stopped() -> None:
    columns = random_columns(np.random.default_rng(6), 14, 300)
    rules = numbered_rules([c.n_states for c in columns], max_parents=3)
    asked = [0]

    def stop() -> bool:
        asked[0] += 1
        return asked[0] > 3

    found = order_structure(SetScores(columns), rules, should_stop=stop)
    assert not found.finished
    assert reference.acyclic(found.parents)
    whole = order_structure(SetScores(columns), rules)
    assert whole.finished
    assert whole.score >= found.score


def test_it_begins_with_a_given_structure() -> None:
    scores = SetScores(random_columns(np.random.default_rng(7), 10, 200))
    rules = numbered_rules(scores.n_states, max_parents=3)
    best = exact_structure(scores, rules)
    found = order_structure(scores, rules, starts=1, patience=0, first=best.parents)
    assert found.score == pytest.approx(best.score, abs=1e-9)
    with pytest.raises(ValueError, match="cycle"):
        order_structure(scores, rules, first=[[1], [0], *[[]] * 8])


def _table(seed: int, n_columns: int, **rules: Any) -> FamilyTable:
    """Families of random columns, some of them grown."""
    scores = SetScores(random_columns(np.random.default_rng(seed), n_columns, 200))
    pools = pools_of(scores, numbered_rules(scores.n_states, max_parents=3, **rules))
    for pool in pools:
        pool.grow_freely()
        pool.look_at_pairs()
    return FamilyTable(pools)


def _value(table: FamilyTable, order: Sequence[int]) -> int:
    """The value of an order by definition."""
    total = 0
    for place, column in enumerate(order):
        before, pool = sum(1 << i for i in order[:place]), table.pools[column]
        total += max(value for mask, value in pool.values.items() if not mask & ~before)
    return total


def test_the_value_of_an_order() -> None:
    table, rng = _table(8, 9), np.random.default_rng(1)
    for _ in range(10):
        order = rng.permutation(9).tolist()
        assert table.value(table.stand(order)) == _value(table, order)


def test_a_move_is_worth_what_it_says() -> None:
    table, rng = _table(8, 9), np.random.default_rng(2)
    for _ in range(5):
        order = rng.permutation(9).tolist()
        standing = table.stand(order)
        gains, worth = insertion_gains(table, standing), table.worth[standing.best].sum()
        for column in range(9):
            others = [i for i in order if i != column]
            for gap in range(10):
                place = gap - (gap > order.index(column))
                moved = [*others[:place], column, *others[place:]]
                assert gains[gap, column] == table.worth[table.stand(moved).best].sum() - worth


def test_climbing_ends_where_no_column_wants_to_move() -> None:
    table, rng = _table(10, 9), np.random.default_rng(3)
    order = rng.permutation(9).tolist()
    found, standing = climb(table, order, lambda: False)
    assert sorted(found) == list(range(9))
    assert table.value(standing) == _value(table, found) >= _value(table, order)
    for column in range(9):
        others = [i for i in found if i != column]
        assert all(_value(table, [*others[:k], column, *others[k:]]) <= _value(table, found) for k in range(9))


def test_a_block_is_put_into_its_best_arrangement() -> None:
    table, rng = _table(11, 8), np.random.default_rng(4)
    for _ in range(10):
        order = rng.permutation(8).tolist()
        first = int(rng.integers(5))
        orders = [[*order[:first], *some, *order[first + 4 :]] for some in permutations(order[first : first + 4])]
        best = max(_value(table, some) for some in orders)
        found = arranged(table, order, first, 4)
        assert _value(table, found or order) == best
        assert (found is None) == (_value(table, order) == best)


def test_blocks_are_connected_and_keep_the_structure() -> None:
    table, rng = _table(12, 12), random.Random(5)
    order, standing = climb(table, range(12), lambda: False)
    blocks = Blocks(table, order)
    for column in range(12):
        block = blocks.block(column, 5, rng)
        assert block >> column & 1
        assert block.bit_count() <= 5
        found, first = blocks.around(block)
        assert set(found[first : first + block.bit_count()]) == set(bits(block))
        assert table.value(table.stand(found)) >= table.value(standing)


def test_no_structure_of_the_known_families_exceeds_the_bound() -> None:
    for seed in range(4):
        table = _table(20 + seed, 6)
        best = max(_value(table, order) for order in permutations(range(6)))
        bounds = [cycle_bound(table, best, steps) for steps in (0, 5, 100)]
        assert bounds[0] == sum(max(pool.values.values()) for pool in table.pools)
        assert bounds[0] >= bounds[1] >= bounds[2] >= best
        low = cycle_bound(table, best - (best >> 8 if best > 0 else -best >> 8), 100)  # a poor structure is known
        assert low >= best


def test_two_columns_that_want_each_other_pay_once() -> None:
    x = np.random.default_rng(0).integers(0, 2, 100)
    scores = SetScores([coded(x), coded(x)])
    found = order_structure(scores, numbered_rules([2, 2], max_parents=1))
    assert sum(map(len, found.parents)) == 1
    assert found.bound <= found.score
    loose = order_structure(scores, numbered_rules([2, 2], max_parents=1), bound_steps=0)
    assert loose.bound - loose.score > 10


def test_a_set_loses_the_same_members_when_only_children_of_the_last_one_are_looked_at() -> None:
    for seed in range(4):
        ascent = _Ascent(_table(20 + seed, 8))
        some = ascent._without_free(2**8 - 1)
        for column in bits(some):
            fewer = some & ~(1 << column)
            assert ascent._without_free(fewer, 1 << column) == ascent._without_free(fewer)


def test_while_cuts_move_fewer_families_are_scored_and_pairs_are_still_seen() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 2, (2, 400))
    scores = SetScores([*random_columns(rng, 9, 400), coded(a), coded(b), coded(a ^ b)])
    rules = numbered_rules(scores.n_states, max_parents=3)
    wide, narrow = (order_structure(scores, rules, starts=1, patience=10, wide=wide) for wide in (True, False))
    assert narrow.families < wide.families
    assert any(set(parents) | {i} == {9, 10, 11} for i, parents in enumerate(narrow.parents))


def test_a_grown_pool_knows_the_best_family_of_one_parent() -> None:
    scores = SetScores(random_columns(np.random.default_rng(9), 8, 150))
    pool = FamilyPool(0, scores, numbered_rules(scores.n_states, max_parents=1))
    pool.grow_freely()
    for before in range(0, 256, 2):
        families = [(), *((i,) for i in bits(before) if scores.n_states[i] > 1 and scores.n_states[0] > 1)]
        best = max(scores.family(0, parents) for parents in families)
        fitting = [value for mask, value in pool.values.items() if not mask & ~before]
        assert -(-max(fitting) >> ARC_BITS) == best


def test_what_was_found_until_a_stop_is_not_taken_for_the_best() -> None:
    """A time limit ends a search early; asked again without one, it looks again."""
    names = [f"x{i}" for i in range(12)]
    columns = dict(zip(names, random_columns(np.random.default_rng(5), 12, 300), strict=True))
    fresh, stopped = (ArcSearch(names, Rules(tuple(names), 3, {}, frozenset()), "orders") for _ in range(2))
    stopped.should_stop = lambda: True
    early = stopped.best(columns)
    stopped.should_stop = lambda: False
    assert early.score < stopped.best(columns).score
    assert stopped.best(columns) == fresh.best(columns)


def test_the_bound_is_lowered_when_it_is_asked_for_and_arcs_are_the_same() -> None:
    names = [f"x{i}" for i in range(12)]
    columns = dict(zip(names, random_columns(np.random.default_rng(5), 12, 300), strict=True))
    search = ArcSearch(names, Rules(tuple(names), 3, {}, frozenset()), "orders")
    plain, bounded = search.best(columns, bounded=False), search.best(columns)
    assert (plain.parents, plain.score) == (bounded.parents, bounded.score)
    assert plain.bound > bounded.bound
    assert search.best(columns, bounded=False) is plain
    exact = ArcSearch(names, Rules(tuple(names), 3, {}, frozenset()), "exact")
    assert exact.best(columns, bounded=False) is exact.best(columns)  # it is not searched for twice


def test_no_gain_of_its_children_moves_a_hub_before_its_required_parents() -> None:
    hub, required, n = 12, (13, 14), 15

    class Scores:
        """Twelve columns that follow a hub, which has two required parents that say nothing; in 2^-35 nats."""

        n_columns = n

        def count(self, bases: Any) -> None: ...

        def nats(self, units: int) -> float:
            return units / 2**35

        def family(self, child: int, parents: Sequence[int]) -> int:
            others = set(parents) - {child}
            return (-1380 * (child < hub and hub not in others) - 2 * len(others)) * 2**35

        def grown(self, child: int, parents: Sequence[int]) -> Any:
            return np.array([self.family(child, (*parents, i)) for i in range(n)], np.int64)

    scores: Any = Scores()
    rules = numbered_rules([4] * n, max_parents=3, required={hub: required})
    first = [()] * hub + [required, (0,), (1,)]  # all children of the hub come before its required parents
    found = order_structure(scores, rules, starts=1, first=first, bound_steps=0)
    assert found.parents[hub] == required
    assert found.parents[:hub] == ((hub,),) * hub
