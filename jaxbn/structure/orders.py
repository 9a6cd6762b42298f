"""A good structure for any number of columns: orders improved by moving columns, perturbed and improved again.

The value of an order is the sum of every column's best family among its predecessors. A first order is taken apart from
its end, where columns are missed least; then columns are put at their best places and neighbours rearranged until
nothing helps. Further orders come from moving a few columns of the best one at random, and from random orders.

Families are scored where the orders lead (see `jaxbn.structure.family_pool`), so the best structure over all families
may be missed, and the bound holds for the families that were scored.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from jaxbn.scores.set_scores import SetScores
from jaxbn.structure.arc_rules import ArcRules, bits
from jaxbn.structure.family_pool import ARC_BITS, FamilyPool, pools_of
from jaxbn.structure.order_moves import Order
from jaxbn.structure.result import Structure

STARTS = 3
"""Orders that are improved on their own; the first is the one taken apart from its end."""

PATIENCE = 30
"""Perturbations in a row that may fail before a start is given up."""

PAIRS_WORK = 2 * 10**9
"""Additions for which all pairs of parents are looked at."""


def order_structure(
    scores: SetScores,
    rules: ArcRules,
    *,
    seed: int = 0,
    starts: int = STARTS,
    patience: int = PATIENCE,
    first: Sequence[int] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    watch: Callable[[Structure], None] = lambda best: None,
) -> Structure:
    """The best structure found; the same for the same seed unless it was stopped.

    Args:
        scores: of the columns at hand.
        rules: what the structure must keep to.
        seed: of the random orders and perturbations.
        starts: orders that are improved on their own.
        patience: perturbations in a row that may fail before a start is given up.
        first: an order to begin with, required parents first; by default one is made.
        should_stop: asked every few milliseconds; true ends the search with the best so far.
        watch: told every new best structure.

    Returns:
        The structure. Its bound is the sum of every column's best family, cycles allowed, over the families scored.
    """
    return _Search(scores, rules, random.Random(seed), should_stop, watch).run(starts, patience, first)


class _Search:
    """The state of one search."""

    def __init__(
        self,
        scores: SetScores,
        rules: ArcRules,
        rng: random.Random,
        should_stop: Callable[[], bool],
        watch: Callable[[Structure], None],
    ) -> None:
        self.scores, self.rules, self.rng = scores, rules, rng
        self.should_stop, self.watch = should_stop, watch
        self.pools = pools_of(scores, rules)
        self.stopped = False
        self.best = Order(self.pools, rules.some_order())
        self.best_value: int | None = None

    def run(self, starts: int, patience: int, first: Sequence[int] | None) -> Structure:
        """Search from a good order and from random ones."""
        for start in range(starts):
            if start:
                columns: Sequence[int] = self._random_order()
            else:
                columns = last_columns_first(self.pools, self.rules) if first is None else first
            order = Order(self.pools, columns)
            if start == 0 and patience:
                self._improve(order)
                self._look_at_pairs()
            self._one_start(order, patience)
            if self.stopped:
                break
        return self._structure()

    def _look_at_pairs(self) -> None:
        """Score all pairs of parents if that is a matter of a second; a pair may help where neither parent does."""
        n_columns = self.scores.n_columns
        work = n_columns**2 * sum(self.scores.n_states) * self.scores.n_rows
        for pool in self.pools:
            self.stopped = self.stopped or self.should_stop()
            if work <= PAIRS_WORK and not self.stopped:
                pool.grow_single()

    def _one_start(self, order: Order, patience: int) -> None:
        """Improve an order, then perturb and improve it until too many perturbations in a row have failed."""
        value, failures = self._improve(order), 0
        while failures < patience and not self.stopped:
            other = Order(self.pools, order.columns)
            self._perturb(other)
            found = self._improve(other)
            failures = 0 if found > value else failures + 1
            if found >= value:
                order, value = other, found

    def _improve(self, order: Order) -> int:
        """Raise an order until nothing helps, and remember it if it is the best; its value."""
        while True:
            self._climb(order)
            if self.stopped or order.value() <= (self.best_value or order.value() - 1):
                break
            if not self._refine(order):
                break
        value = order.value()
        if self.best_value is None or value > self.best_value:
            self.best, self.best_value = order, value
            self.watch(self._structure())
        return value

    def _climb(self, order: Order) -> None:
        """Put columns at their best places, and rearrange neighbours where no column wants to move."""
        while not self.stopped:
            columns = list(order.columns)
            self.rng.shuffle(columns)
            if not sum(self._step(order.insert_best, column) for column in columns):
                windows = range(max(len(columns) - 1, 0))
                if not sum(self._step(order.rearrange, first) for first in windows):
                    return

    def _step(self, move: Callable[[int], bool], argument: int) -> bool:
        self.stopped = self.stopped or self.should_stop()
        return not self.stopped and move(argument)

    def _refine(self, order: Order) -> bool:
        """Look at the neighbours of the order's families; whether the order is worth more for it."""
        before = order.value()
        for pool, parents in zip(self.pools, order.parents(), strict=True):
            pool.refine(parents)
        return order.value() > before

    def _perturb(self, order: Order) -> None:
        """Move a few columns to places where required parents still come first."""
        n_columns = len(order.columns)
        for _ in range(self.rng.randint(2, max(3, n_columns // 8))):
            column = self.rng.randrange(n_columns)
            first, last = _room(order, self.rules, column)
            order.move(column, self.rng.randint(first, last))

    def _random_order(self) -> list[int]:
        """Columns one by one at random, required parents first."""
        order: list[int] = []
        placed, left = 0, list(range(self.scores.n_columns))
        while left:
            ready = [i for i in left if not self.rules.required[i] & ~placed]
            order.append(self.rng.choice(ready))
            left.remove(order[-1])
            placed |= 1 << order[-1]
        return order

    def _structure(self) -> Structure:
        masks = self.best.parents()
        units = [self.scores.family(child, tuple(bits(mask))) for child, mask in enumerate(masks)]
        return Structure(
            tuple(tuple(bits(mask)) for mask in masks),
            self.scores.nats(sum(units)),
            bound=self.scores.nats(sum(-(-pool.bound() >> ARC_BITS) for pool in self.pools)),
            proved=False,
            families=sum(pool.scored for pool in self.pools),
            finished=not self.stopped,
        )


def _room(order: Order, rules: ArcRules, column: int) -> tuple[int, int]:
    """The first and last place among the others at which required parents come before their children."""
    here, bit = order.place[column], 1 << column
    after = [order.place[i] - (order.place[i] > here) + 1 for i in bits(rules.required[column])]
    until = [order.place[i] - (order.place[i] > here) for i, must in enumerate(rules.required) if must & bit]
    return max(after, default=0), min(until, default=len(order.columns) - 1)


def last_columns_first(pools: Sequence[FamilyPool], rules: ArcRules) -> list[int]:
    """An order built from its end: again and again the column that the remaining ones miss least as a parent."""
    remaining, order = (1 << len(pools)) - 1, []
    while remaining:
        current = {child: pools[child].best(remaining & ~(1 << child)) for child in bits(remaining)}
        needed = 0
        for child in bits(remaining):
            needed |= rules.required[child]
        losses = []
        for column in bits(remaining & ~needed):
            rest = remaining & ~(1 << column)
            users = [(pools[c], value, rest & ~(1 << c)) for c, (value, mask) in current.items() if mask >> column & 1]
            losses.append((sum(value - pool.best(others)[0] for pool, value, others in users), -column))
        order.append(-min(losses)[1])
        remaining &= ~(1 << order[-1])
    return order[::-1]
