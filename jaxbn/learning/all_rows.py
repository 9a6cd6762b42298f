"""From a network of a sample to one of all rows, in a few passes over a source that need not fit in memory.

Each pass counts, for the current cuts and arcs, the families that scored nearly best on the sample, and for each
variable the values between other places for its cuts. From these counts follow the evidence of all rows, the best arcs
of those families, and cuts to try in the next pass. A state with less evidence than the best so far is dropped, so the
evidence never falls (docs/large.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from jaxbn.counts.host import counts_of
from jaxbn.cuts.binning import Binning
from jaxbn.cuts.from_counts import Counted, best_cuts
from jaxbn.cuts.methods import Method
from jaxbn.cuts.on_grid import beside
from jaxbn.cuts.shapes.shape import Shape
from jaxbn.groups.grouping import Grouping
from jaxbn.groups.levels import log_inside
from jaxbn.inputs.graph import Parents, children_of
from jaxbn.inputs.later import nx
from jaxbn.inputs.units import NUMBER
from jaxbn.learning.passes import Structure
from jaxbn.scores.coded_table import CodedTable, Coding, Columns
from jaxbn.scores.evidence import Links, coding_price, effective_parents, log_density, log_prior, shaped_density
from jaxbn.scores.tables import k2_score
from jaxbn.sources.counting import Coded
from jaxbn.sources.survey import Column
from jaxbn.structure.constraints import Rules

if TYPE_CHECKING:
    from jaxbn.learning.large import Large

POSITIONS = 383  # candidate places for the cuts of a column in a pass
SPREAD = 96  # of which so many are spread over its whole range
MOST_CELLS = 2**20  # most cells of a table of places and a family; where there would be more, fewer places are tried
ENOUGH = 1e-9  # smallest gain that a change must promise, as a share of the evidence
MOST_FAMILIES = 16  # families of a variable that are counted, at most, those that are expected to be the best
MANY_COLUMNS = 40  # from so many columns on no parent is exchanged for another: these are too many families
NEAR = 18.0
"""A family is counted on all rows if it is expected to fall short of the best of its variable by so many nats of the
sample at most. The log-likelihood ratio of two families that fit about as well has a standard deviation of about the
square root of twice its size, so these are three of them: 18 = 3 · √(2 · 18)."""

Counts = NDArray[np.int64]


class Standing(NamedTuple):
    """A structure with its codings, and what all rows say of it."""

    parents: Structure
    codings: dict[str, Coding]
    value: float = -math.inf  # F of all rows
    tables: Mapping[str, Counts] = {}  # of each family, [*parents, child], with places for missing entries
    level_counts: Mapping[str, Counts] = {}  # of grouped columns


class Places(NamedTuple):
    """Where the cuts of a variable are looked for."""

    coded: Coded
    first: NDArray[np.float64]  # smallest value of each group between the places
    last: NDArray[np.float64]
    now: list[int]  # groups that the present cuts fall after
    shape: Shape | None


Moves = dict[str, tuple[float, Binning]]
"""Better cuts of variables, with their gains in nats if all neighbours stay as they are."""


@dataclass
class AllRows:
    """The rows of a source, known by a sample in memory and by counts."""

    large: Large
    data: CodedTable  # of the sample
    options: Method
    rules: Rules
    arc_charge: float = 0.0  # of the prior over parents; 0 for none
    fixed: bool = False  # whether the arcs stay as they are
    n_families: int = field(default=0, init=False)  # that the arcs were chosen from

    def coded(self, name: str, coding: Coding | None) -> Coded:
        """How a column is counted."""
        table = self.data.table
        if isinstance(coding, Binning):
            return Coded(name, coding.cuts, table.units.get(name, NUMBER))
        if coding is None:
            return Coded(name, levels=table.levels[name])
        sizes = [len(group) for group in coding.groups]
        groups = np.append(coding(table.levels[name], name=name), sizes.index(max(sizes)))
        return Coded(name, levels=table.levels[name], groups=groups.astype(np.int32))

    def places(self, name: str, standing: Standing) -> Places:
        """Candidate places close to the cuts of a variable and some anywhere, each between two values of the sample."""
        binning, ordered = standing.codings[name], self.data.ordered[name]
        assert isinstance(binning, Binning)
        values, every = ordered.values, ordered.positions
        most = min(POSITIONS, max(SPREAD, MOST_CELLS // self._largest(name, standing)))
        cuts = np.searchsorted(values, binning.cuts)
        if len(every) - 1 > most:
            spread = every[np.linspace(0, len(every) - 1, SPREAD).round().astype(np.intp)]
            every = beside(every, cuts, most, SPREAD) if len(cuts) else spread
        inner = every[1:-1]
        edges = ordered.edges(inner - 1)
        now = np.searchsorted(inner, cuts)
        edges[now] = binning.cuts  # so that the present cuts are among the candidates, and the result is no worse
        first, last = values[every[:-1]], values[every[1:] - 1]
        low, high = self.bounds(name)
        first[0], last[-1] = min(first[0], low), max(last[-1], high)
        unit = self.data.table.units.get(name, NUMBER)
        return Places(Coded(name, edges, unit), first, last, now.tolist(), shaped_density(self.data, name, binning)[1])

    def bounds(self, name: str) -> tuple[float, float]:
        """The smallest and the largest value of a column."""
        values, known = self.data.ordered[name].values, self.large.facts.columns.get(name, Column())
        return min(known.low, float(values[0])), max(known.high, float(values[-1]))

    def n_distinct(self, name: str) -> int:
        """Distinct values of a column in all rows; beyond a few thousand it is an estimate."""
        return max(self.data.ordered[name].n_distinct, self.large.facts.columns.get(name, Column()).n_distinct)

    def _largest(self, name: str, standing: Standing) -> int:
        """Cells of the largest family that a variable is in, without itself."""
        families = [[n for n in family if n != name] for family in families_with(standing.parents, name)]
        size = {n: self.coded(n, standing.codings.get(n)).size + 1 for family in families for n in family}
        return max(math.prod(size[n] for n in family) for family in families)

    # --- the evidence

    def evidence(self, standing: Standing) -> float:
        """F of all rows, from the tables of a standing."""
        columns = self.data.recoded(standing.codings).columns
        parts = [self.family(name, standing.parents[name], table, columns) for name, table in standing.tables.items()]
        for name, coding in standing.codings.items():
            own = standing.tables[name]
            counts = own.sum(axis=tuple(range(own.ndim - 1)))[:-1]
            if isinstance(coding, Grouping):
                seen = standing.level_counts[name]
                m = int((seen > 0).sum())
                parts.append(log_inside(coding, self.data.table.levels[name], seen))
            else:
                m = self.n_distinct(name)
                shape = shaped_density(self.data, name, coding)[1]
                parts.append(log_density(counts, coding.cuts, self.bounds(name), shape))
            parts.append(-coding_price(coding, m, int((counts > 0).sum())))
        return math.fsum(parts)

    def family(self, child: str, parents: Sequence[str], table: Counts, columns: Columns) -> float:
        """The part of F that a family has; rows that lack a parent are one more configuration."""
        counts, others = complete(table), tuple(range(table.ndim - 1))
        apart = table[..., :-1].sum(axis=others) - counts.sum(axis=others)
        if apart.any():
            counts = np.concatenate([counts.reshape(-1, len(apart)), apart[None]])
        kept = effective_parents(child, parents, columns, self.rules.required)
        prior = log_prior(child, kept, len(self.data.names), self.rules.links, self.arc_charge)
        return k2_score(counts, self.options.weight) + prior

    # --- passes

    def looked_at(self, standing: Standing, *, last: bool) -> tuple[Standing, Standing | None, Moves]:
        """One pass: the standing with its evidence, one with better arcs if there is one, and better cuts."""
        coded = {name: self.coded(name, standing.codings.get(name)) for name in self.data.names}
        columns = self.data.recoded(standing.codings).columns
        near = {child: [parents] for child, parents in standing.parents.items()}
        if not (last or self.fixed):
            n_all, weight = self.large.facts.n_rows, self.options.weight
            near = near_families(standing.parents, columns, self.rules, n_all, self.arc_charge, weight)
        sets = _maximal(frozenset((child, *parents)) for child, found in near.items() for parents in found)
        grouped = [n for n, coding in standing.codings.items() if isinstance(coding, Grouping)]
        free = [] if last or self.options.name != "evidence" else sorted(self.data.ordered.keys() - self.data.given)
        places = {name: self.places(name, standing) for name in free}
        around = {
            name: [[places[name].coded, *(coded[n] for n in family if n != name)] for family in families]
            for name, families in ((name, families_with(standing.parents, name)) for name in free)
        }
        requests: list[Sequence[Coded]] = [[coded[name] for name in members] for members in sets]
        requests += [[Coded(name, levels=self.data.table.levels[name])] for name in grouped]
        requests += [request for some in around.values() for request in some]
        # one pass counts all of it; answers come in the order of the requests: sets, levels, families with places
        answers = iter(self.large.count(requests))
        tables = dict(zip(sets, answers, strict=False))
        level_counts = {name: next(answers)[:-1] for name in grouped}
        found = {c: {p: family_table(tables, c, p) for p in some} for c, some in near.items()}
        own = {child: found[child][parents] for child, parents in standing.parents.items()}
        standing = standing._replace(tables=own, level_counts=level_counts)
        standing = standing._replace(value=self.evidence(standing))
        cuts = {n: self._best_cuts(n, standing, places[n], [next(answers) for _ in around[n]]) for n in free}
        if last or self.fixed:
            return standing, None, cuts
        self.n_families = sum(map(len, near.values()))
        scores = {c: {p: self.family(c, p, table, columns) for p, table in some.items()} for c, some in found.items()}
        parents = best_of_families(scores)
        other = standing._replace(parents=parents, tables={c: found[c][p] for c, p in parents.items()})
        other = other._replace(value=self.evidence(other))
        return standing, other if other.value > standing.value + ENOUGH * abs(standing.value) else None, cuts

    def _best_cuts(
        self, name: str, standing: Standing, places: Places, tables: Sequence[Counts]
    ) -> tuple[float, Binning]:
        """The best cuts of a variable given its neighbours, and what they gain."""
        held = [table[:-1] for table in tables]  # without the rows that lack it
        counted = Counted(places.first, places.last, held[0], held[1:], self.n_distinct(name))
        most = max(self.data.max_cells // self._largest(name, standing), 1)
        most = min(most, self.options.most_bins(name) or most)
        narrowest = self.options.narrowest(name, self.data.ordered[name])
        found = best_cuts(counted, places.now, narrowest, most, places.shape)
        assert places.coded.cuts is not None
        cuts = places.coded.cuts[found.after]
        return found.gain, Binning(cuts, found.cost, *self.bounds(name), method="evidence")


def families_with(parents: Structure, name: str) -> list[tuple[str, ...]]:
    """The families that a variable is in, (*parents, child) each, its own first."""
    return [(*parents[child], child) for child in (name, *children_of(parents)[name])]


def _maximal(sets: Iterable[frozenset[str]]) -> list[tuple[str, ...]]:
    """The sets that are not subsets of others: the counts of a subset are sums of theirs."""
    distinct = sorted(set(sets), key=lambda some: (-len(some), sorted(some)))  # the same order in every process
    kept: list[frozenset[str]] = []
    for some in distinct:
        if not any(some <= other for other in kept):
            kept.append(some)
    return [tuple(sorted(some)) for some in kept]


def family_table(tables: Mapping[tuple[str, ...], Counts], child: str, parents: Sequence[str]) -> Counts:
    """Counts of a family [*parents, child] from those of a set that holds it."""
    family = (*parents, child)
    members = next(members for members in tables if set(family) <= set(members))
    others = tuple(i for i, name in enumerate(members) if name not in family)
    left = [name for name in members if name in family]
    return tables[members].sum(axis=others).transpose([left.index(name) for name in family])


def complete(table: Counts) -> Counts:
    """Counts of the rows that lack nothing."""
    return table[(slice(-1),) * table.ndim]


# --- families that may be the best on all rows, judged by a sample of them, and the best structure of these


def near_families(
    parents: Parents, columns: Columns, rules: Rules, n_all: int, arc_charge: float, weight: float
) -> dict[str, list[tuple[str, ...]]]:
    """The families one step from a structure (a parent more, fewer or exchanged) that came near; its own come first.

    The columns are those of the sample, and `n_all` the rows of the source.
    """
    found = {}
    for child, own in parents.items():
        steps = {tuple(sorted(own)): tuple(own)}
        for each in _steps(child, own, columns, rules):
            steps.setdefault(tuple(sorted(each)), each)
        given = columns, n_all, arc_charge, rules.links, weight
        values = {each: expected_score(child, each, *given) for each in steps.values()}
        best = max(values.values())
        order = sorted((each for each in values if values[each] >= best - NEAR), key=lambda each: -values[each])
        found[child] = [tuple(own), *(each for each in order[:MOST_FAMILIES] if each != tuple(own))]
    return found


def expected_score(
    child: str, parents: Sequence[str], columns: Columns, n_all: int, arc_charge: float, links: Links, weight: float
) -> float:
    """The score of a family on all rows that its score on the sample lets expect, divided by how many more they are.

    The likelihood grows with the rows, and what d free parameters cost, d/2 ln n, with their logarithm.
    """
    members = [columns[name] for name in (*parents, child)]
    counts = counts_of([(column.codes, column.n_states) for column in members]).table
    n = int(counts.sum())
    more = n_all / max(n, 1)
    free = (counts.shape[-1] - 1) * int(np.count_nonzero(counts.sum(axis=-1)))
    prior = log_prior(child, parents, len(columns), links, arc_charge)
    # score ~ L - d/2 ln n on the sample, and more · L - d/2 ln n_all + prior on all rows, here divided by `more`
    return k2_score(counts, weight) + free / 2 * (math.log(n) - math.log(n_all) / more) + prior / more


def _steps(child: str, own: Sequence[str], columns: Columns, rules: Rules) -> Iterator[tuple[str, ...]]:
    """Families with one parent more, fewer or exchanged."""
    if columns[child].n_states < 2:
        return
    must = rules.required.get(child, ())
    rests = [tuple(p for p in own if p != out) for out in own if out not in must]
    yield from rests
    others = [name for name, column in columns.items() if name not in (child, *own) and column.n_states > 1]
    for rest in (tuple(own), *(rests if len(columns) < MANY_COLUMNS else ())):
        yield from ((*rest, other) for other in rules.candidates(child, others, rest, columns))


def best_of_families(families: Mapping[str, Mapping[tuple[str, ...], float]]) -> Structure:
    """The acyclic structure with the highest score, proved: one family for each variable, of those with a score.

    It is an integer program, to which constraints are added as cycles turn up. An acyclic choice must exist; a family
    without parents for each variable ensures that.
    """
    chosen = [(child, parents) for child, found in families.items() for parents in found]
    scores = np.array([families[child][parents] for child, parents in chosen])
    # relative to the best family: small numbers, as the solver's tolerance is relative
    losses = np.array([max(families[child].values()) for child, _ in chosen]) - scores
    rows = [[child == name for child, _ in chosen] for name in families]
    limits = [LinearConstraint(np.array(rows, np.float64), 1, 1)]
    while True:
        found = milp(losses, constraints=limits, integrality=np.ones(len(chosen)), bounds=Bounds(0, 1))
        if found.x is None:
            raise ValueError(f"no structure without cycles can be made of these families: {found.message}")
        parents = dict(pair for pair, x in zip(chosen, found.x, strict=True) if x > 0.5)
        graph = nx.DiGraph([(parent, child) for child, each in parents.items() for parent in each])
        cycles = [part for part in nx.strongly_connected_components(graph) if len(part) > 1]
        if not cycles:
            return {child: parents[child] for child in families}
        for part in cycles:  # cutting planes: some variable of each cycle must have no parent in it
            cycle = {tail for tail, _ in nx.find_cycle(graph.subgraph(part))}
            outside = [child in cycle and not cycle & set(each) for child, each in chosen]
            limits.append(LinearConstraint(np.array([outside], np.float64), 1, np.inf))
