"""The best arcs for the codes at hand, by name: exactly for few columns, by a search over orders for many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from jaxbn.inputs.graph import Parents, topological_order
from jaxbn.scores.coded_table import Columns
from jaxbn.scores.set_scores import SetScores
from jaxbn.structure.arc_rules import ArcRules
from jaxbn.structure.constraints import Constraints
from jaxbn.structure.exact import exact_structure, is_feasible
from jaxbn.structure.orders import order_structure

Search = Literal["auto", "exact", "orders", "k2"]
SEARCHES = ("auto", "exact", "orders", "k2")


class Arcs(NamedTuple):
    """A structure by name, and what is known about it."""

    parents: dict[str, tuple[str, ...]]
    score: float  # ln P(codes | structure), with the prior over parent sets where it is asked for
    bound: float  # no structure of the families looked at scores more
    proved: bool  # whether no structure within the constraints scores more
    search: str  # "exact" or "orders"


@dataclass
class ArcSearch:
    """Finds structures for one table again and again; only what changed in between is counted again."""

    names: Sequence[str]
    constraints: Constraints
    search: Search = "auto"
    parent_prior: bool = True
    seed: int = 0
    scores: SetScores = field(init=False)
    _known: dict[tuple[int, ...], Arcs] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.scores = SetScores(parent_prior=self.parent_prior)

    def best(self, columns: Columns, now: Parents | None = None) -> Arcs:
        """The best structure for these columns; a search over orders begins at the one they have now."""
        key = tuple(columns[name].key for name in self.names)
        if key not in self._known:
            self._known[key] = self._search(columns, now)
        return self._known[key]

    def _search(self, columns: Columns, now: Parents | None) -> Arcs:
        self.scores.show([columns[name] for name in self.names])
        rules = self._rules(columns)
        if self.search == "exact" or (self.search == "auto" and is_feasible(rules)):
            found, search = exact_structure(self.scores, rules), "exact"
        else:
            first = None if now is None else [self.names.index(name) for name in topological_order(now)]
            found, search = order_structure(self.scores, rules, seed=self.seed, first=first), "orders"
        parents = {name: tuple(self.names[p] for p in found.parents[i]) for i, name in enumerate(self.names)}
        return Arcs(parents, found.score, found.bound, found.proved, search)

    def score(self, columns: Columns, parents: Parents) -> float:
        """What a structure scores for these columns."""
        self.scores.show([columns[name] for name in self.names])
        index = {name: i for i, name in enumerate(self.names)}
        families = (self.scores.family(index[name], [index[p] for p in parents[name]]) for name in self.names)
        return self.scores.nats(sum(families))

    def _rules(self, columns: Columns) -> ArcRules:
        index = {name: i for i, name in enumerate(self.names)}
        return ArcRules.of(
            [columns[name].n_states for name in self.names],
            max_parents=self.constraints.max_parents,
            required={index[child]: [index[p] for p in found] for child, found in self.constraints.required.items()},
            forbidden=[(index[parent], index[child]) for parent, child in self.constraints.forbidden],
            max_cells=self.constraints.max_cells,
        )
