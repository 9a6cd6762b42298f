"""A good structure for any number of columns: orders improved by moving columns and by rearranging blocks of them.

The value of an order is the sum of every column's best family among its predecessors. Orders are improved with the
known families: columns move to their best places, and connected columns are put into their best arrangement
(`order_moves`). Then the families in use are grown, which may lead further. This is done for a few random orders. For
the best of them the search then looks at the families that would be used after one move, or that differ by one parent,
and improves it with these, until nothing is gained.

Families are scored where the orders lead (see `jaxbn.structure.families`), so the best structure over all families
may be missed, and the bound holds for the families that were scored (docs/maths.md, "The best structure").
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from jaxbn.scores.set_scores import SetScores
from jaxbn.structure.constraints import Rules, bits, mask_of
from jaxbn.structure.cycle_bound import STEPS, cycle_bound
from jaxbn.structure.exact import Structure
from jaxbn.structure.families import ARC_BITS, FamilyTable, pools_of
from jaxbn.structure.order_moves import Blocks, climb, rivals

STARTS = 3  # random orders that are improved on their own
PATIENCE = 60  # an order is left as it is after this many blocks in a row without a gain
WIDE = 20  # with at most this many columns, families are also scored far from where orders lead


def order_structure(
    scores: SetScores,
    rules: Rules,
    *,
    seed: int = 0,
    starts: int = STARTS,
    patience: int = PATIENCE,
    first: Sequence[Sequence[int]] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    bound_steps: int = STEPS,
    wide: bool = True,
) -> Structure:
    """The best structure found; the same for the same seed, of random orders and perturbations, unless it was stopped.

    Its bound holds for all structures of the families that were scored (`cycle_bound`); it is lowered in `bound_steps`,
    which take about as long as the search, and without them it has cycles in it.

    So many orders, the `starts`, are improved on their own; further families are looked at for the best of them.
    `patience` is how many blocks of columns in a row may be in their best arrangement already; 0 leaves blocks out, and
    further families too. `first` has the parents of every column in a structure to begin with, instead of a random
    order: what is found is at least as good, except for families that the rules do not permit. `should_stop` is asked
    every millisecond or so; true ends the search with the best so far. Without `wide`, families far from where orders
    lead are scored with two parents at most.
    """
    search = _Search(scores, rules, seed, should_stop)
    search.run(starts, patience, first, wide)
    if search.stopped or search.best_value is None:
        return search.structure()
    return search.structure(cycle_bound(search.table, search.best_value, bound_steps))


class _Search:
    """The state of one search."""

    def __init__(self, scores: SetScores, rules: Rules, seed: int, should_stop: Callable[[], bool]) -> None:
        self.scores, self.rules, self.rng = scores, rules, random.Random(seed)
        self._should_stop, self.stopped = should_stop, False
        self.pools = pools_of(scores, rules)
        for pool in self.pools:
            if not self.is_over():
                pool.grow_freely()
        self.table = FamilyTable(self.pools)
        self.best = self._legal(list(range(scores.n_columns)))
        self.best_value: int | None = None

    def is_over(self) -> bool:
        """Whether the search was told to stop."""
        self.stopped = self.stopped or self._should_stop()
        return self.stopped

    def run(self, starts: int, patience: int, first: Sequence[Sequence[int]] | None, wide: bool) -> None:
        """Improve some orders, then look for further families around the best."""
        if patience:
            self._look_wide(wide)
        begin = self._random_order() if first is None else self._order_of(first)
        for start in range(max(starts, 1)):
            if start == 0 or not self.stopped:
                self._improve(self._random_order() if start else begin, patience)
        value = None
        while patience and value != self.best_value and not self.stopped:
            value = self.best_value
            # families close to those of the best order: with a parent dropped or replaced, or the best after one move
            swapped = self.table.refine(self.table.stand(self.best).best)
            if self.table.grow(rivals(self.table, self.table.stand(self.best))) or swapped:
                self._improve(self.best, patience)

    def _look_wide(self, further: bool) -> None:
        """With few columns: score all pairs of parents, then (`further`) every known family with a further parent.

        Parents may help together where none helps alone.
        """
        if self.scores.n_columns <= WIDE:
            for pool in self.pools:
                if not self.is_over():
                    pool.look_at_pairs()
            self.table.update()
            if further and not self.is_over():
                self.table.grow(self.table.numbers)

    def _improve(self, order: Sequence[int], patience: int) -> None:
        """Improve an order until `patience` blocks in a row bring no gain; keep it if it is the best."""
        found, value = self._settle(order)
        blocks, failures = Blocks(self.table, found), 0
        while failures < patience and not self.stopped:
            better = blocks.rearranged(self.rng)
            failures += 1
            if better is not None:
                found, value = self._settle(better)
                blocks, failures = Blocks(self.table, found), 0
            self.is_over()
        if self.best_value is None or value > self.best_value:
            self.best, self.best_value = found, value

    def _settle(self, order: Sequence[int]) -> tuple[list[int], int]:
        """Let columns move and families grow until nothing helps; the order and its value."""
        while True:
            found, standing = climb(self.table, order, self.is_over)
            # settled once growing the families in use brings no new ones; each is grown once, so this ends
            if self.stopped or not self.table.grow(standing.best):
                return found, self.table.value(standing)
            order = found

    def _order_of(self, parents: Sequence[Sequence[int]]) -> list[int]:
        """An order of a structure, whose families are known from now on."""
        masks = [mask_of(some) for some in parents]
        for pool, mask in zip(self.pools, masks, strict=True):
            pool.add(mask)
        self.table.update()
        order: list[int] = []
        left = (1 << len(masks)) - 1
        while left:
            ready = [column for column in bits(left) if not masks[column] & left]
            if not ready:
                raise ValueError("first: its arcs form a cycle")
            order += ready
            left &= ~mask_of(ready)
        return self._legal(order)

    def _random_order(self) -> list[int]:
        """Columns at random, required parents first."""
        order = list(range(self.scores.n_columns))
        self.rng.shuffle(order)
        return self._legal(order)

    def _legal(self, order: list[int]) -> list[int]:
        """The same order, with each column delayed until its required parents precede it."""
        found: list[int] = []
        placed = 0
        while order:
            column = next(i for i in order if not self.rules.must[i] & ~placed)
            order.remove(column)
            found.append(column)
            placed |= 1 << column
        return found

    def structure(self, bound: int | None = None) -> Structure:
        """The best one so far; without another bound, that of all columns having their best families."""
        standing = self.table.stand(self.best)
        masks = [self.table.masks[family] for family in standing.best.tolist()]
        # scored again rather than taken from the values, which have the arcs subtracted
        units = [self.scores.family(child, tuple(bits(mask))) for child, mask in enumerate(masks)]
        if bound is None:
            bound = sum(max(pool.values.values()) for pool in self.pools)
        return Structure(
            tuple(tuple(bits(mask)) for mask in masks),
            self.scores.nats(sum(units)),
            bound=self.scores.nats(-(-bound >> ARC_BITS)),  # rounded up, which makes up for the arcs subtracted
            proved=False,
            families=sum(pool.scored for pool in self.pools),
            finished=not self.stopped,
        )
