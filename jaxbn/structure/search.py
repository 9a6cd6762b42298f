"""The best arcs for the codes at hand, by name: exactly for few columns, by a search over orders for many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jaxbn.inputs.graph import Parents
from jaxbn.scores.coded_table import Columns
from jaxbn.scores.evidence import ARC_CHARGE
from jaxbn.scores.set_scores import SetScores
from jaxbn.structure.constraints import Rules
from jaxbn.structure.cycle_bound import STEPS
from jaxbn.structure.exact import exact_structure, is_feasible
from jaxbn.structure.orders import PATIENCE, STARTS, order_structure

SEARCHES = ("auto", "exact", "orders", "k2")
MOST_ROWS = 2 * 10**8  # rows of all sets that the exact search may count while the cuts still move: some seconds
QUICK_PATIENCE = 10  # blocks that may fail in a search over orders, from one start, while the cuts still move


class Arcs(NamedTuple):
    """A structure by name, and what is known about it."""

    parents: dict[str, tuple[str, ...]]
    score: float  # ln P(codes | structure), with the prior over parent sets where it is asked for
    bound: float  # no structure of the families looked at scores more
    proved: bool  # whether no structure within the constraints scores more
    search: str  # "exact" or "orders"


@dataclass
class ArcSearch:
    """Repeated searches on one table; only what changed in between is counted again."""

    names: Sequence[str]
    rules: Rules
    search: str = "auto"
    arc_charge: float = ARC_CHARGE  # of the prior over parents; 0 for none
    weight: float = 1.0  # Dirichlet weight of a cell
    seed: int = 0
    orders: tuple[int, int] = (STARTS, PATIENCE)  # starts and patience of a thorough search over orders
    should_stop: Callable[[], bool] = lambda: False  # asked by a search over orders, to end with the best so far
    scores: SetScores = field(init=False)
    _known: dict[tuple[Any, ...], Arcs] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.scores = SetScores(weight=self.weight, arc_charge=self.arc_charge, links=self.rules.odds)

    def best(
        self, columns: Columns, now: Parents | None = None, *, thorough: bool = True, bounded: bool = True
    ) -> Arcs:
        """The best structure for these columns, or a good one where cuts will move again and it need not be `thorough`.

        A search over orders starts from the structure `now`, if it has arcs. To lower its bound takes several times as
        long as the search, where there are many columns: that is left out unless a thorough one is to be `bounded`.
        """
        steps = STEPS if thorough and bounded else 0
        codes = [columns[name].key for name in self.names]
        known = self._known.get((thorough, steps, *codes))
        if known is None:
            known, finished = self._search(columns, now, thorough, steps)
            self.scores.rest()
            # what was stopped by the clock may be found better the next time; what is proved needs no better bound
            if finished:
                self._known |= {(thorough, each, *codes): known for each in (steps, STEPS if known.proved else steps)}
        return known

    def _search(self, columns: Columns, now: Parents | None, thorough: bool, steps: int) -> tuple[Arcs, bool]:
        self.scores.show([columns[name] for name in self.names])
        rules = self.rules.of_columns(columns)
        quick = is_feasible(rules) if thorough else is_feasible(rules, MOST_ROWS // self.scores.n_rows)
        if self.search == "exact" or (self.search == "auto" and quick):
            found, search = exact_structure(self.scores, rules), "exact"
        else:
            starts, patience = self.orders if thorough else (1, QUICK_PATIENCE)
            first = None
            if now is not None and any(now.values()):
                first = [[self.names.index(parent) for parent in now[name]] for name in self.names]
            found = order_structure(
                self.scores,
                rules,
                seed=self.seed,
                starts=starts,
                patience=patience,
                first=first,
                should_stop=self.should_stop,
                bound_steps=steps,
                wide=thorough,
            )
            search = "orders"
        parents = {name: tuple(self.names[p] for p in found.parents[i]) for i, name in enumerate(self.names)}
        return Arcs(parents, found.score, found.bound, found.proved, search), found.finished

    def score(self, columns: Columns, parents: Parents) -> float:
        """What a structure scores for these columns."""
        self.scores.show([columns[name] for name in self.names])
        index = {name: i for i, name in enumerate(self.names)}
        families = (self.scores.family(index[name], [index[p] for p in parents[name]]) for name in self.names)
        return self.scores.nats(sum(families))
