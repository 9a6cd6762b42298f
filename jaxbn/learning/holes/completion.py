"""A table with its missing entries filled in: states drawn from a network, then a value or level of each state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.groups.grouping import Grouping
from jaxbn.inputs.columns import MISSING
from jaxbn.inputs.graph import Parents
from jaxbn.inputs.table import Table
from jaxbn.learning.holes.expectation import Expectation
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.imputing.donors import MOST_STATES, donors_of, matched_donors, nearest_values, predictors_of, signs_of
from jaxbn.model.imputing.scale import Scale
from jaxbn.model.inference.answers import by_column, draw_completions, marginals, most_probable_completions
from jaxbn.model.inference.network import Network, network, positions
from jaxbn.runtime import limits
from jaxbn.scores.coded_table import CodedTable, Coding
from jaxbn.scores.tables import family_counts, posterior_means

HOLES = 18
"""Added to the seed of the draws for missing entries."""

FEW_ENTRIES, MANY_SWEEPS, FEW_SWEEPS = 10**6, 10, 4
"""Rows times columns up to which expected values get many sweeps; the sweeps up to there, and beyond."""

SWEEPS = 2
"""Times that every column is drawn; the first time, missing values of its neighbours come from their bins alone."""

Bins = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Codes of a variable [n], -1 where missing, and the same completed."""

States = Mapping[str, Bins]
"""Those of every variable."""


class Predictor(NamedTuple):
    """A predictor of a number: a completed column, and where it was observed, [n] each."""

    values: NDArray[np.float64]
    known: NDArray[np.bool_]


Predictors = Sequence[Predictor]
DonorsFor = Callable[[NDArray[np.float64], Bins, Predictors], NDArray[np.intp]]
"""The rows that the missing entries of a column are taken from, [holes]."""


def completed(
    data: CodedTable,
    parents: Parents,
    codings: Mapping[str, Coding],
    rng: np.random.Generator,
    basis: CodedTable | None = None,
) -> Table:
    """The table of `data` completed by one draw from the exact posterior of each row given its observed entries.

    Args:
        data: the table with holes.
        parents: the structure of the network that is drawn from.
        codings: cuts and groups.
        rng: of the draws.
        basis: the complete table whose counts are the network's tables; without one, they are counted for each family
            in the rows that have all of it.
    """

    def of_rows_alike(column: NDArray[np.float64], bins: Bins, predictors: Predictors) -> NDArray[np.intp]:
        return matched_donors(column, [each.values for each in predictors], *bins, rng)

    return _drawn(data, parents, codings, rng, basis, of_rows_alike)


def matched(
    data: CodedTable,
    parents: Parents,
    codings: Mapping[str, Coding],
    rng: np.random.Generator,
    basis: CodedTable | None = None,
) -> Table:
    """The table of `data` completed by draws that keep dependencies without an arc; arguments as for ``completed``.

    Levels are drawn as there. A number is taken from a donor row, in any bin, with nearly the same prediction by
    regression on all other columns, or similar in them: it is as noisy as the rows, and as dependent on other columns.
    """

    def of_rows_alike(column: NDArray[np.float64], bins: Bins, predictors: Predictors) -> NDArray[np.intp]:
        features, known = (np.stack(each, axis=1) for each in zip(*predictors, strict=True))
        return donors_of(column, features, known, bins[0]).draw(rng)

    return _drawn(data, parents, codings, rng, basis, of_rows_alike)


def _drawn(
    data: CodedTable,
    parents: Parents,
    codings: Mapping[str, Coding],
    rng: np.random.Generator,
    basis: CodedTable | None,
    donors_for: DonorsFor,
) -> Table:
    """The table completed by draws: states from the network, then numbers of rows that are alike.

    Each number is drawn several times, given the current values of all others.
    """
    net, codes = _network(data, parents, codings, basis)
    states = _states(data, codes, draw_completions(net, codes[data.table.holed_rows], rng))
    filled = _filled(data, codings, states, rng)
    scales = {name: Scale.of(known.values) for name, known in data.ordered.items()}
    values = {name: scales[name].to(column) for name, column in filled.values.items()}
    numbers = [name for name in data.table.holes if name in values]
    for _ in range(SWEEPS):
        for name in numbers:
            limits.check()
            others = predictors_of(parents, name)
            predictors = [each for other in others for each in _predictors(data.table, other, values, states)]
            if predictors:
                donors = donors_for(values[name], states[name], predictors)
                values[name] = values[name].copy()
                values[name][data.table.absent(name)] = values[name][donors]
    result = dict(filled.values)
    for name in numbers:
        absent = data.table.absent(name)
        result[name][absent] = scales[name].back(values[name][absent])
    return replace(filled, values=result)


def expected(
    data: CodedTable,
    parents: Parents,
    codings: Mapping[str, Coding],
    rng: np.random.Generator,
    basis: CodedTable | None = None,
) -> Table:
    """The table of `data` completed by expected values; arguments as for ``completed``.

    Levels are the most probable ones, by the network and by regressions on all other columns; a number is the observed
    one nearest to what such a regression predicts. So dependencies show more clearly than in the rows themselves, also
    where the network so far has no arc.
    """
    net, codes = _network(data, parents, codings, basis)
    states = _states(data, codes, most_probable_completions(net, codes[data.table.holed_rows]))
    filled = _filled(data, codings, states, rng)
    scales = {name: Scale.of(known.values) for name, known in data.ordered.items()}
    told = Expectation(
        {name: scales[name].to(column).copy() for name, column in filled.values.items()},
        {name: _signs(states[name][1]) for name in filled.codes},
        _posterior(data, net, codes, [name for name in filled.codes if name not in codings]),
        {name: data.table.absent(name) for name in data.table.holes},
    )
    for _ in range(FEW_SWEEPS if codes.size > FEW_ENTRIES else MANY_SWEEPS):
        told.sweep(parents)
    values, levels = dict(filled.values), dict(filled.codes)
    for name, gone in told.absent.items():
        if name in values:
            values[name][gone] = scales[name].back(nearest_values(scales[name].seen, told.values[name][gone]))
        elif name in told.posterior:
            levels[name] = _levels(data.table.codes[name], states[name][0], told.chances[name].argmax(axis=1))
    return replace(filled, values=values, codes=levels)


def _signs(states: NDArray[np.int32]) -> NDArray[np.float64]:
    """Whether each row has each state, [n, K]; of very many states the first ones alone."""
    return np.asarray(states[:, None] == np.arange(min(int(states.max()) + 1, MOST_STATES)), np.float64)


def _posterior(
    data: CodedTable, net: Network, codes: NDArray[np.int32], names: Sequence[str]
) -> dict[str, NDArray[np.float64]]:
    """The network's chances of the states of some columns where they are missing, [holes, K]."""
    holed, sizes = codes[data.table.holed_rows], net.structure.sizes
    places = {_at(data, name): name for name in names if name in data.table.holes}
    kept = [place for place in places if sizes[place] <= MOST_STATES]
    found = by_column(marginals(net, holed), holed == MISSING, {place: sizes[place] for place in kept})
    return {places[place]: chances for place, chances in found.items()}


def _at(data: CodedTable, name: str) -> int:
    return data.names.index(name)


def _network(
    data: CodedTable, parents: Parents, codings: Mapping[str, Coding], basis: CodedTable | None
) -> tuple[Network, NDArray[np.int32]]:
    """The network that rows are completed by, and the rows as codes [rows, variables], -1 where missing."""
    names = data.names
    columns = data.recoded(codings).columns
    sizes = {name: columns[name].n_states for name in names}
    counted = columns if basis is None else basis.recoded(codings).columns
    tables = []
    for name in names:
        limits.check()
        family = [counted[member].codes for member in (*parents[name], name)]
        has = np.logical_and.reduce([codes >= 0 for codes in family])
        known = [codes[has] for codes in family]
        counts = family_counts(known[-1], known[:-1], [sizes[v] for v in (*parents[name], name)])
        tables.append(posterior_means(counts, 1.0))
    net = network(positions({name: parents[name] for name in names}), tables)
    return net, np.stack([columns[name].codes for name in names], axis=1)


def _states(data: CodedTable, codes: NDArray[np.int32], completions: NDArray[np.integer]) -> States:
    """The codes of every variable, and the same with the rows that lack entries completed."""
    whole = codes.copy()
    whole[data.table.holed_rows] = completions
    return {name: (codes[:, i], whole[:, i]) for i, name in enumerate(data.names)}


def completed_by(net: BayesNet, table: Table, seed: int = 0) -> Table:
    """A table completed by a draw from a network's structure and cuts; the table itself if nothing is missing."""
    rng = np.random.default_rng([seed, HOLES])
    return completed(CodedTable(table, flat=True), net.parents, net.codings, rng) if table.holes else table


def _predictors(table: Table, name: str, values: Mapping[str, NDArray[np.float64]], states: States) -> list[Predictor]:
    """A continuous column itself, or whether a discrete one has each of its states but one."""
    known = ~table.absent(name) if name in table.holes else np.ones(table.n_rows, bool)
    if name in values:
        return [Predictor(values[name], known)]
    drawn = states[name][1]
    return [Predictor(sign, known) for sign in signs_of(drawn, int(drawn.max()) + 1).T]


def _filled(
    data: CodedTable,
    codings: Mapping[str, Coding],
    columns: States,
    rng: np.random.Generator,
) -> Table:
    """Values and levels for the drawn states: those of rows that are known to be in the same one."""
    table = data.table
    values, codes = dict(table.values), dict(table.codes)
    for name in table.holes:
        known, drawn = columns[name]
        absent = table.absent(name)
        if name in values:
            values[name] = values[name].copy()
            donors = _donors(known, drawn[absent], rng)
            values[name][absent] = values[name][donors]
        elif isinstance(codings.get(name), Grouping):
            donors = _donors(known, drawn[absent], rng)
            codes[name] = codes[name].copy()
            codes[name][absent] = codes[name][donors]
        else:
            codes[name] = _levels(codes[name], known, drawn)
    return replace(table, values=values, codes=codes)


def _donors(known: NDArray[np.int32], drawn: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.intp]:
    """A donor for each drawn state: the rows observed in it take turns, in random order.

    In turn, because a value that is taken much more often than its neighbours would look like a peak of the density.
    """
    shuffled = rng.permutation(np.flatnonzero(known != MISSING))
    by_state = shuffled[np.argsort(known[shuffled], kind="stable")]
    counts = np.bincount(known[shuffled], minlength=int(drawn.max(initial=0)) + 1)
    first = np.cumsum(counts) - counts
    order = np.argsort(drawn, kind="stable")
    sizes = np.bincount(drawn, minlength=len(counts))
    rank = np.empty(len(drawn), np.intp)
    rank[order] = np.arange(len(drawn)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray(by_state[first[drawn] + rank % np.maximum(counts[drawn], 1)], np.intp)


def _levels(codes: NDArray[np.int32], known: NDArray[np.int32], drawn: NDArray[np.int32]) -> NDArray[np.int32]:
    """The levels of a column whose states are its observed levels, without gaps."""
    level_of = np.zeros(int(known.max()) + 1, np.int32)
    level_of[known[known != MISSING]] = codes[known != MISSING]
    return np.where(codes == MISSING, level_of[drawn], codes).astype(np.int32)
