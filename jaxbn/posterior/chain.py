"""A chain of networks whose long-run frequencies are their posterior probabilities, exp(F) up to a factor.

One sweep visits every continuous variable: its arcs may change, judged with its cuts summed out, and then all its cuts
are drawn together from their exact posterior. Levels of grouped columns change their groups. Then arcs are drawn with
all cuts and groups as they are, among a few columns at a time. Each of these steps leaves the posterior invariant
(docs/maths.md, "Draws of cuts and arcs").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.counts.codes import Column
from jaxbn.cuts.binning import Binning, equal_frequency_binning
from jaxbn.cuts.blanket import Factor, factors_of
from jaxbn.cuts.discretize_variable import Request
from jaxbn.cuts.evidence import WEIGHT, choice_cost
from jaxbn.groups.grouping import Grouping
from jaxbn.groups.levels import draw_groups
from jaxbn.posterior.arcs import Families, Graph, LogScore, blocks, differences, draw_block, move_arcs
from jaxbn.posterior.cut_posterior import Choice, CutSums, choice_of, sum_over_cuts
from jaxbn.runtime import limits
from jaxbn.scores.coded_table import CodedTable, Coding
from jaxbn.scores.evidence import ARC_CHARGE, coding_evidence, log_prior
from jaxbn.scores.families import family_score
from jaxbn.scores.set_scores import SetScores
from jaxbn.structure.constraints import Rules, bits, cells, mask_of

PROPOSALS = 1  # moves of arcs in a sweep for each ordered pair of columns
PLAIN_BINS = 4  # bins of equal frequency by which a variable's arcs are proposed, where no cuts are known that may suit
TRUST = 0.5  # the power of the probability of graphs with such bins, by which they are proposed
BLOCK = 6  # columns among which all arcs are drawn together, at most


class State(NamedTuple):
    """A network: arcs, and how each column is coded."""

    graph: Graph
    columns: tuple[Column, ...]
    codings: Mapping[str, Coding]  # of continuous and grouped columns


@dataclass
class Chain:
    """Steps from network to network on one table; random numbers come with each sweep."""

    data: CodedTable
    rules: Rules
    grid: int
    min_widths: Mapping[str, float] = field(default_factory=dict)
    most_bins: Mapping[str, int | None] = field(default_factory=dict)
    moves_arcs: bool = True
    arc_charge: float = ARC_CHARGE
    # cuts that may suit, by which proposals are judged at first: they only save time, but must never change
    likely: Mapping[str, Coding] = field(default_factory=dict)
    _plain_bins: dict[int, Column] = field(init=False, default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns."""
        return self.data.names

    def begin(self, parents: Mapping[str, Sequence[str]], codings: Mapping[str, Coding]) -> State:
        """The state of a network."""
        index = {name: i for i, name in enumerate(self.names)}
        graph = tuple(mask_of([index[p] for p in parents[name]]) for name in self.names)
        start = self.data.fitting(self.data.recoded(codings), parents)
        columns = tuple(start.columns[name] for name in self.names)
        own = {
            n: self._binning(n, c.cuts) if isinstance(c, Binning) else Grouping(c.groups, method="draw")
            for n, c in start.binnings.items()
        }
        return State(graph, columns, {**own, **self.data.given})

    def _binning(self, name: str, edges: NDArray[np.float64]) -> Binning:
        values = self.data.ordered[name].values
        return Binning(edges, lower=float(values[0]), upper=float(values[-1]), method="draw")

    def sweep(self, states: Sequence[State], rngs: Sequence[np.random.Generator]) -> list[State]:
        """Every variable cut or grouped again, and the arcs moved, in several chains side by side.

        Each chain has its own random numbers, and what it does depends on no other: together they make larger batches.
        """
        states = list(states)
        for name in self.data.ordered:
            if self.data.ordered[name].n_distinct > 1 and name not in self.data.given:
                states = self._visit(states, self.names.index(name), rngs)
        for c, rng in enumerate(rngs):
            for name in self.data.grouped:
                states[c] = self._regroup(states[c], self.names.index(name), rng)
            if self.moves_arcs:
                states[c] = self._move_arcs(states[c], rng)
        return states

    def log_target(self, state: State) -> float:
        """F of a network: with the prior of every parent set, and on a grid with that of the grid's positions."""
        log_score = self._log_scores(state.columns)
        own = (self._coding(name, state) for name in state.codings)
        return math.fsum([*(log_score(v, parents) for v, parents in enumerate(state.graph)), *own])

    # --- one variable: its arcs with the cuts summed out, then its cuts

    def _visit(self, states: Sequence[State], v: int, rngs: Sequence[np.random.Generator]) -> list[State]:
        states = list(states)
        now = self._summed(states, v)
        if self.moves_arcs:
            found = [self._proposed(state, v, rng) for state, rng in zip(states, rngs, strict=True)]
            tried = {c: states[c]._replace(graph=new) for c, (new, _) in enumerate(found) if new != states[c].graph}
            # G' comes from G with R(G') / R(G) times the chance of the way back, found[c][1] = ln of that ratio: taken
            # with probability min(1, M(G') R(G) / (M(G) R(G'))), it leaves the posterior invariant
            # (docs/maths.md, "Draws of cuts and arcs").
            for c, then in zip(tried, self._summed(list(tried.values()), v), strict=True):
                changed = differences(states[c].graph, tried[c].graph)
                gain = then.log_evidence + self._rest(tried[c], v, changed)
                gain -= now[c].log_evidence + self._rest(states[c], v, changed)
                if np.log1p(-rngs[c].random()) < gain - found[c][1]:
                    states[c], now[c] = tried[c], then
        # whatever became of the proposal: arcs were judged without the cuts of v, so these are drawn given the arcs
        each = zip(states, now, rngs, strict=True)
        return [self._recut(state, v, sums.draw(rng)[0]) for state, sums, rng in each]

    def _summed(self, states: Sequence[State], v: int) -> list[CutSums]:
        """The sums over all cuts of a variable in the states of some chains."""
        ordered, width = self.data.ordered[self.names[v]], self.min_widths.get(self.names[v], 0.0)
        shapes, choices = self.data.shapes_of(self.names[v]), list[Choice]()
        for state in states:
            request = Request(ordered, self._factors(state, v, ordered.order), 1.0, min_width=width, shapes=shapes)
            choices.append(choice_of(request, self.grid, self._most_states(state, v)))
        limits.check()
        return sum_over_cuts(choices, [state.columns[v].n_states for state in states])

    def _plain(self, state: State, v: int) -> LogScore:
        """Scores with bins of a variable that do not depend on its cuts, to the power by which they are trusted."""
        if v not in self._plain_bins:
            name, plain = self.names[v], self.likely.get(self.names[v])
            if not isinstance(plain, Binning) or plain.n_bins == 1:
                plain = equal_frequency_binning(self.data.ordered[name], PLAIN_BINS)
            self._plain_bins[v] = self.data.coded(name, plain)
        columns = [self._plain_bins[v] if i == v else column for i, column in enumerate(state.columns)]
        log_score = self._log_scores(columns)
        return lambda child, parents: TRUST * log_score(child, parents)

    def _proposed(self, state: State, v: int, rng: np.random.Generator) -> tuple[Graph, float]:
        """All arcs among a variable and some others, drawn as they seem probable; and how much more than before."""
        others = rng.permutation([u for u in range(len(self.names)) if u != v])[: BLOCK - 1]
        # arcs are allowed if one bin of v fits; the sums over its cuts have no more bins than fit (`_most_states`)
        one_bin = [1 if i == v else column.size for i, column in enumerate(state.columns)]
        plain = self._plain(state, v)
        new = draw_block(state.graph, [v, *others.tolist()], Families(self.rules, one_bin, plain), rng)
        return new, sum(plain(w, new[w]) - plain(w, state.graph[w]) for w in differences(state.graph, new))

    def _factors(self, state: State, v: int, rows: NDArray[np.integer] | slice) -> list[Factor]:
        """The families of a variable, for some rows in their order."""
        graph = state.graph

        def codes(members: int) -> list[NDArray[np.int32]]:
            return [state.columns[i].codes[rows] for i in bits(members)]

        children = [w for w in range(len(graph)) if graph[w] >> v & 1]
        families = [(codes(1 << w)[0], codes(graph[w] & ~(1 << v))) for w in children]
        return factors_of(codes(graph[v]), families, len(state.columns[v].codes))

    def _most_states(self, state: State, v: int) -> int:
        """States that a variable may have, for the tables to keep to their limit."""
        graph, sizes = state.graph, [column.size for column in state.columns]
        families = [w for w in range(len(graph)) if w == v or graph[w] >> v & 1]
        tables = [cells((graph[w] | 1 << w) & ~(1 << v), sizes) for w in families]
        limit = self.most_bins.get(self.names[v])
        most = max(self.rules.max_cells // max(tables), 1)
        return most if limit is None else min(most, limit)

    def _rest(self, state: State, v: int, changed: Sequence[int]) -> float:
        """What the changed families have beyond the sum over a variable's cuts: priors, and families without it."""
        graph, total = state.graph, 0.0
        for child in changed:
            parents = [self.names[p] for p in bits(graph[child])]
            total += log_prior(self.names[child], parents, len(graph), self.rules.links, self.arc_charge)
            if child != v and not graph[child] >> v & 1:
                total += family_score(state.columns[child], [state.columns[p] for p in bits(graph[child])], WEIGHT)
        return total

    def _recut(self, state: State, v: int, ranks: NDArray[np.integer]) -> State:
        name, ordered = self.names[v], self.data.ordered[self.names[v]]
        edges = ordered.edges(ranks)
        if np.array_equal(edges, state.codings[name].cuts):  # type: ignore[union-attr]
            return state
        steps = np.zeros(len(ordered.values), np.int32)
        steps[ranks + 1] = 1
        codes = np.empty_like(steps)
        codes[ordered.order] = np.cumsum(steps)
        return self._recoded(state, v, codes, self._binning(name, edges))

    def _regroup(self, state: State, v: int, rng: np.random.Generator) -> State:
        """The levels of a variable put into groups again, one after the other."""
        name, now = self.names[v], state.codings[self.names[v]]
        levels, codes = self.data.table.levels[name], self.data.table.codes[name]
        assert isinstance(now, Grouping)
        factors = self._factors(state, v, slice(None))
        new = draw_groups(levels, codes, factors, now, self._most_states(state, v), rng)
        if new.groups == now.groups:
            return state
        return self._recoded(state, v, new(levels)[codes], new)

    def _recoded(self, state: State, v: int, codes: NDArray[np.int32], coding: Coding) -> State:
        columns = list(state.columns)
        columns[v] = Column(v, codes, coding.n_bins)  # nothing is remembered by its key from state to state
        return State(state.graph, tuple(columns), {**state.codings, self.names[v]: coding})

    def _coding(self, name: str, state: State) -> float:
        """What the coding of a column adds to F."""
        n_states, ordered = state.columns[self.names.index(name)].n_states, self.data.ordered.get(name)
        own = coding_evidence(self.data, name, state.codings[name], n_states)
        # the prior over all gaps is replaced by that over the grid's positions, as in `choice_of`
        if ordered is not None and ordered.n_distinct > self.grid:
            own += float(choice_cost(ordered.n_distinct, n_states))
            own -= float(choice_cost(self.grid, min(n_states, self.grid)))
        return own

    # --- arcs, all cuts as they are

    def _move_arcs(self, state: State, rng: np.random.Generator) -> State:
        n, graph, sizes = len(self.names), state.graph, [column.size for column in state.columns]
        families = Families(self.rules, sizes, self._log_scores(state.columns))
        for members in blocks(n, BLOCK, rng):
            limits.check()
            graph = draw_block(graph, members, families, rng)
        if n > BLOCK:  # else all arcs have just been drawn together
            graph = move_arcs(graph, families, rng, PROPOSALS * n * (n - 1))
        return state._replace(graph=graph)

    def _log_scores(self, columns: Sequence[Column]) -> LogScore:
        """Scores of families of some columns, with the prior of their parents, in natural units."""
        scores = SetScores(columns, weight=WEIGHT, arc_charge=self.arc_charge, links=self.rules.odds)
        return lambda child, parents: scores.nats(scores.single(child, parents))
