"""A chain of networks whose long-run frequencies are their posterior probabilities, exp(F) up to a factor.

One sweep visits every continuous variable: its arcs may change, judged with its cuts summed out, and then all its cuts
are drawn together from their exact posterior. Levels of grouped columns change their groups. Then arcs are drawn with
all cuts and groups as they are, among a few columns at a time. Each of these steps leaves the posterior invariant
(docs/maths.md, "Draws of cuts and arcs").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.counts.codes import Column
from jaxbn.cuts.baselines import equal_frequency_binning
from jaxbn.cuts.binning import Binning
from jaxbn.cuts.blanket import Factor, factors_of
from jaxbn.cuts.discretize_variable import Request
from jaxbn.cuts.evidence import WEIGHT, choice_cost
from jaxbn.groups.grouping import Grouping
from jaxbn.posterior.all_cuts import Choice, CutSums, choice_of, edges_of, sum_over_cuts
from jaxbn.posterior.arcs import Graph, blocks, differences, draw_block, move_arcs, propose
from jaxbn.posterior.group_moves import draw_groups
from jaxbn.runtime import limits
from jaxbn.scores.coded_table import CodedTable, Coding
from jaxbn.scores.evidence import coding_evidence
from jaxbn.scores.families import family_score
from jaxbn.scores.parent_prior import log_links, log_parent_prior
from jaxbn.scores.set_scores import SetScores
from jaxbn.structure.constraints import Rules, bits, cells, mask_of

PROPOSALS = 1
"""Moves of arcs in a sweep for each ordered pair of columns."""

ATTEMPTS = 8
"""Changes of an arc of a variable that are proposed at each visit, its cuts summed out."""

PLAIN_BINS = 4
"""Bins of equal frequency by which such a change is judged at first, where no cuts are known that may suit."""

TRUST = 0.25
"""The power of the ratio of probabilities in this first judgement, with which the change passes."""

BLOCK = 6
"""Columns among which all arcs are drawn together, at most."""

LogScore = Callable[[int, int], float]
"""The score of a child with the parents of a bit mask."""


class State(NamedTuple):
    """A network: arcs, and how each column is coded."""

    graph: Graph
    columns: tuple[Column, ...]
    codings: Mapping[str, Coding]  # of continuous and grouped columns


class Summed(NamedTuple):
    """A variable to cut, and the sums over all its cuts."""

    request: Request
    sums: CutSums


@dataclass
class Chain:
    """Steps from network to network on one table; random numbers come with each sweep."""

    data: CodedTable
    rules: Rules
    grid: int
    min_widths: Mapping[str, float] = field(default_factory=dict)
    most_bins: Mapping[str, int | None] = field(default_factory=dict)
    moves_arcs: bool = True
    # cuts that may suit, by which proposals are judged at first: they only save time, but must never change
    likely: Mapping[str, Coding] = field(default_factory=dict)
    _keys: count[int] = field(init=False, default_factory=count)
    _plain_bins: dict[int, Column] = field(init=False, default_factory=dict)
    _own: dict[int, float] = field(init=False, default_factory=dict)  # by key of a column: what its coding adds to F

    @property
    def names(self) -> tuple[str, ...]:
        """All columns."""
        return self.data.names

    def begin(self, parents: Mapping[str, Sequence[str]], codings: Mapping[str, Coding]) -> State:
        """The state of a network."""
        index = {name: i for i, name in enumerate(self.names)}
        graph = tuple(mask_of([index[p] for p in parents[name]]) for name in self.names)
        start = self.data.fitting(self.data.recoded(codings), parents)
        columns = tuple(start.columns[name]._replace(key=next(self._keys)) for name in self.names)
        own = {
            name: self._binning(name, coding.cuts)
            if isinstance(coding, Binning)
            else Grouping(coding.groups, method="draw")
            for name, coding in start.binnings.items()
        }
        return State(graph, columns, own)

    def _binning(self, name: str, edges: NDArray[np.float64]) -> Binning:
        values = self.data.ordered[name].values
        shape = next(iter(self.data.shapes_of(name)), None)
        return Binning(edges, lower=float(values[0]), upper=float(values[-1]), method="draw", shape=shape)

    def sweep(self, states: Sequence[State], rngs: Sequence[np.random.Generator]) -> list[State]:
        """Every variable cut or grouped again, and the arcs moved, in several chains side by side.

        Each chain has its own random numbers, and what it does depends on no other: together they make larger batches.
        """
        states = list(states)
        for name in self.data.ordered:
            if self.data.ordered[name].n_distinct > 1:
                states = self._visit(states, self.names.index(name), rngs)
        for c, rng in enumerate(rngs):
            for name in self.data.grouped:
                states[c] = self._regroup(states[c], self.names.index(name), rng)
            if self.moves_arcs:
                states[c] = self._move_arcs(states[c], rng)
        return states

    def log_target(self, state: State) -> float:
        """F of a network: with the prior of every parent set, and on a grid with that of the grid's positions."""
        log_score = _log_scores(state.columns, self.rules.odds)
        own = (self._coding(name, state) for name in state.codings)
        return math.fsum([*(log_score(v, parents) for v, parents in enumerate(state.graph)), *own])

    # --- one variable: its arcs with the cuts summed out, then its cuts

    def _visit(self, states: Sequence[State], v: int, rngs: Sequence[np.random.Generator]) -> list[State]:
        states, moved = list(states), []
        now = self._summed(states, v, range(len(states)))
        # once for all proposals: these scores depend on the cuts of the other variables, which stay until the end
        plain = [self._plain(state, v) for state in states]
        for _ in range(ATTEMPTS if self.moves_arcs and len(self.names) > 1 else 0):
            found = {c: self._promising(states[c], v, plain[c], rng) for c, rng in enumerate(rngs)}
            tried = {c: states[c]._replace(graph=new) for c, (new, _) in found.items() if new != states[c].graph}
            # Delayed acceptance: a proposal has passed with probability min(1, r), ln r = found[c][1]. Taken now with
            # probability min(1, M(new) / (r M(now))), ln of M(new) / M(now) = gain, it leaves the posterior invariant
            # (docs/maths.md, "Draws of cuts and arcs").
            for c, then in zip(tried, self._summed(tried, v, list(tried)), strict=True):
                gain = self._gain(v, (states[c], now[c].sums), (tried[c], then.sums))
                if np.log1p(-rngs[c].random()) < gain - found[c][1]:
                    states[c], now[c] = tried[c], then
        # whatever became of the proposals: arcs were judged without the cuts of v, so these are drawn given the arcs
        for state, (request, sums), rng in zip(states, now, rngs, strict=True):
            moved.append(self._recut(state, v, request, sums.draw(rng)[0]))
        return moved

    def _summed(self, states: Mapping[int, State] | Sequence[State], v: int, chains: Sequence[int]) -> list[Summed]:
        """The sums over all cuts of a variable in the states of some chains."""
        found = [self._choice(states[c], v, states[c].graph) for c in chains]
        limits.check()
        sums = sum_over_cuts([choice for _, choice in found], [states[c].columns[v].n_states for c in chains])
        return [Summed(request, each) for (request, _), each in zip(found, sums, strict=True)]

    def _plain(self, state: State, v: int) -> LogScore:
        """Scores with bins of a variable that do not depend on its cuts."""
        if v not in self._plain_bins:
            name, plain = self.names[v], self.likely.get(self.names[v])
            if not isinstance(plain, Binning) or plain.n_bins == 1:
                plain = equal_frequency_binning(self.data.ordered[name], PLAIN_BINS)
            self._plain_bins[v] = self.data.coded(name, plain)
        columns = [self._plain_bins[v] if i == v else column for i, column in enumerate(state.columns)]
        return _log_scores(columns, self.rules.odds)

    def _promising(self, state: State, v: int, plain: LogScore, rng: np.random.Generator) -> tuple[Graph, float]:
        """A graph that differs in the arcs of a variable and seems probable enough, or the same; and how it seems.

        Most proposals are hopeless, and any bins tell so at less cost than a sum over cuts.
        """
        new = propose(state.graph, rng, v)
        changed = differences(state.graph, new)
        # arcs are allowed if one bin of v fits; the sums over its cuts have no more bins than fit (`_most_states`)
        one_bin = [1 if i == v else column.size for i, column in enumerate(state.columns)]
        if not changed or not self.rules.allows(new, changed, one_bin):
            return state.graph, 0.0
        seems = seeming_gain(plain, state.graph, new)
        return (new, seems) if np.log1p(-rng.random()) < seems else (state.graph, 0.0)

    def _gain(self, v: int, old: tuple[State, CutSums], new: tuple[State, CutSums]) -> float:
        """Log of how much more probable a graph is than another, the cuts of a variable summed out."""
        changed = differences(old[0].graph, new[0].graph)
        after, before = (sums.log_evidence + self._rest(state, v, state.graph, changed) for state, sums in (new, old))
        return after - before

    def _choice(self, state: State, v: int, graph: Graph) -> tuple[Request, Choice]:
        """The ways to cut a variable given its blanket in a graph."""
        name = self.names[v]
        ordered = self.data.ordered[name]
        factors = self._factors(state, v, graph, ordered.order)
        limits = {"min_width": self.min_widths.get(name, 0.0), "shapes": self.data.shapes_of(name)}
        request = Request(ordered, factors, 1.0, **limits)  # type: ignore[arg-type]
        return request, choice_of(request, self.grid, self._most_states(state, v, graph))

    def _factors(self, state: State, v: int, graph: Graph, rows: NDArray[np.integer] | slice) -> list[Factor]:
        """The families of a variable in a graph, for some rows in their order."""

        def codes(members: int) -> list[NDArray[np.int32]]:
            return [state.columns[i].codes[rows] for i in bits(members)]

        children = [w for w in range(len(graph)) if graph[w] >> v & 1]
        families = [(codes(1 << w)[0], codes(graph[w] & ~(1 << v))) for w in children]
        return factors_of(codes(graph[v]), families, len(state.columns[v].codes))

    def _most_states(self, state: State, v: int, graph: Graph) -> int:
        """States that a variable may have, for the tables to keep to their limit."""
        sizes = [column.size for column in state.columns]
        families = [w for w in range(len(graph)) if w == v or graph[w] >> v & 1]
        tables = [cells((graph[w] | 1 << w) & ~(1 << v), sizes) for w in families]
        limit = self.most_bins.get(self.names[v])
        most = max(self.rules.max_cells // max(tables), 1)
        return most if limit is None else min(most, limit)

    def _rest(self, state: State, v: int, graph: Graph, changed: Sequence[int]) -> float:
        """What the changed families have beyond the sum over a variable's cuts: priors, and families without it."""
        total = 0.0
        for child in changed:
            total += log_parent_prior(len(graph), graph[child].bit_count())
            total += log_links(self.names[child], (self.names[p] for p in bits(graph[child])), self.rules.links)
            if child != v and not graph[child] >> v & 1:
                total += family_score(state.columns[child], [state.columns[p] for p in bits(graph[child])], WEIGHT)
        return total

    def _recut(self, state: State, v: int, request: Request, ranks: NDArray[np.intp]) -> State:
        name, ordered = self.names[v], request.ordered
        edges = edges_of(request, ranks)
        if np.array_equal(edges, state.codings[name].cuts):  # type: ignore[union-attr]
            return state
        steps = np.zeros(len(ordered.values), np.int32)
        steps[ranks + 1] = 1
        codes = np.empty_like(steps)
        codes[ordered.order] = np.cumsum(steps)
        columns = list(state.columns)
        # a new key: what is remembered of the old codes must not be taken for these
        columns[v] = Column(next(self._keys), codes, len(ranks) + 1)
        self._own.pop(state.columns[v].key, None)
        return State(state.graph, tuple(columns), {**state.codings, name: self._binning(name, edges)})

    def _regroup(self, state: State, v: int, rng: np.random.Generator) -> State:
        """The levels of a variable put into groups again, one after the other."""
        name, now = self.names[v], state.codings[self.names[v]]
        levels, codes = self.data.table.levels[name], self.data.table.codes[name]
        assert isinstance(now, Grouping)
        factors, most = self._factors(state, v, state.graph, slice(None)), self._most_states(state, v, state.graph)
        new = draw_groups(levels, codes, factors, now, most, rng)
        if new.groups == now.groups:
            return state
        columns = list(state.columns)
        columns[v] = Column(next(self._keys), new(levels)[codes], new.n_groups)
        self._own.pop(state.columns[v].key, None)
        return State(state.graph, tuple(columns), {**state.codings, name: new})

    def _coding(self, name: str, state: State) -> float:
        column = state.columns[self.names.index(name)]
        if column.key not in self._own:
            own = coding_evidence(self.data, name, state.codings[name], column.n_states)
            # the prior over all gaps is replaced by that over the grid's positions, as in `choice_of`
            if name in self.data.ordered and self.data.ordered[name].n_distinct > self.grid:
                k = min(column.n_states, self.grid)
                own += float(choice_cost(self.data.ordered[name].n_distinct, column.n_states))
                own -= float(choice_cost(self.grid, k))
            self._own[column.key] = own
        return self._own[column.key]

    # --- arcs, all cuts as they are

    def _move_arcs(self, state: State, rng: np.random.Generator) -> State:
        n, log_score = len(self.names), _log_scores(state.columns, self.rules.odds)
        sizes = [column.size for column in state.columns]
        graph = state.graph
        for members in blocks(n, BLOCK, rng):
            limits.check()
            graph = draw_block(graph, members, self.rules, sizes, log_score, rng)
        if n > BLOCK:  # else all arcs have just been drawn together
            graph = move_arcs(graph, self.rules, sizes, log_score, rng, PROPOSALS * n * (n - 1))
        return state._replace(graph=graph)


def _log_scores(columns: Sequence[Column], odds: NDArray[np.float64] | None) -> LogScore:
    """Scores of families of some columns, with the prior of their parents, in natural units."""
    scores = SetScores(columns, weight=WEIGHT, parent_prior=True, links=odds)
    return lambda child, parents: scores.nats(scores.single(child, parents))


def seeming_gain(plain: LogScore, old: Graph, new: Graph) -> float:
    """Log of how much more probable a graph seems than another, in part: the same backwards with the other sign."""
    return TRUST * sum(plain(v, new[v]) - plain(v, old[v]) for v in differences(old, new))
