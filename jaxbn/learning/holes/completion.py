"""A table with its missing entries filled in: states by a network, then numbers by rows that may be alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from jaxbn.groups.grouping import Grouping
from jaxbn.inputs.columns import MISSING
from jaxbn.inputs.graph import Parents
from jaxbn.inputs.table import Table
from jaxbn.model.imputing.donors import MOST_STATES, donors_of, features_of, indicators, matched_donors, predictors_of
from jaxbn.model.imputing.ridge import RidgeRegressions, Scale
from jaxbn.model.inference.answers import draw_completions, most_probable_completions, posteriors
from jaxbn.model.inference.network import Network, network, positions
from jaxbn.runtime import limits
from jaxbn.scores.coded_table import CodedTable, Coding
from jaxbn.scores.tables import family_counts, posterior_means

HOLES = 18  # added to the seed of the draws for missing entries
FEW_ENTRIES = 10**6  # rows times columns up to which expected values get many sweeps
MANY_SWEEPS, FEW_SWEEPS = 10, 4  # the sweeps up to there, and beyond
SWEEPS = 2  # times that a column is drawn; the first time, missing values of its neighbours come from their bins alone
LEAST = 1e-6  # smallest probability that the regressions may give a level

Codes = NDArray[np.int32]
States = Mapping[str, tuple[Codes, Codes]]
"""Codes of every variable [n], -1 where missing, and the same completed."""


def completed(
    data: CodedTable,
    parents: Parents,
    codings: Mapping[str, Coding],
    rng: np.random.Generator,
    basis: CodedTable | None = None,
    *,
    any_bin: bool = False,
) -> Table:
    """The table of `data` completed by one draw from the exact posterior of each row given its observed entries.

    The tables of the network are counted in `basis`, which is complete; without one, for each family in the rows that
    have all of it. A number is that of a row for which a regression on all other columns predicts nearly the same. It
    is drawn several times, given the current values of all others.

    With `any_bin`, numbers are taken from rows in any bin, not in the drawn one alone, and from those that look alike
    too: they are as noisy as the rows, and depend on other columns as in the rows, also where the network has no arc.
    """
    net, codes = _network(data, parents, codings, basis)
    states = _states(data, codes, draw_completions(net, codes[data.table.holed_rows], rng))
    filled, scales = _filled(data, codings, states, rng), _scales(data)
    columns = {name: scales[name].to(column)[:, None].copy() for name, column in filled.values.items()}
    columns |= {name: indicators(states[name][1], int(states[name][1].max()) + 1) for name in filled.codes}
    known = {name: codes[:, i] != MISSING for i, name in enumerate(data.names)}
    numbers = [name for name in data.table.holes if name in filled.values]
    # chained equations: each column given the current values of all others, so that those of a row fit each other
    for _ in range(SWEEPS):
        for name in numbers:
            limits.check()
            features, shown = features_of(columns, known, predictors_of(parents, name))
            if features.shape[1]:
                column = columns[name]
                if any_bin:
                    donors = donors_of(column[:, 0], features, shown, states[name][0]).draw(rng)
                else:
                    donors = matched_donors(column[:, 0], features, *states[name], rng)
                column[~known[name]] = column[donors]
    for name in numbers:
        filled.values[name][~known[name]] = scales[name].nearest(columns[name][~known[name], 0])
    return filled


matched = partial(completed, any_bin=True)


def expected(
    data: CodedTable,
    parents: Parents,
    codings: Mapping[str, Coding],
    rng: np.random.Generator,
    basis: CodedTable | None = None,
) -> Table:
    """The table of `data` completed by expected values; arguments as for ``completed``.

    A number is the observed one nearest to what a regression on all other columns predicts. The chances of levels are,
    in equal parts, those of the network, which sees bins, and those of such regressions, one for each level, which see
    what lies inside them. So dependences show more clearly than in the rows, also where the network has no arc.
    """
    net, codes = _network(data, parents, codings, basis)
    states = _states(data, codes, most_probable_completions(net, codes[data.table.holed_rows]))
    filled, scales = _filled(data, codings, states, rng), _scales(data)
    columns = {name: scales[name].to(column)[:, None].copy() for name, column in filled.values.items()}
    columns |= {name: _chances(states[name][1]) for name in filled.codes}
    posterior = _posterior(data, net, codes, codings)
    absent = {name: data.table.absent(name) for name in data.table.holes}
    # complete rows never change: what they add to the normal equations is worked out once for all sweeps
    changing = np.logical_or.reduce(list(absent.values()))
    lines = {name: RidgeRegressions(~gone, changing) for name, gone in absent.items()}
    for _ in range(FEW_SWEEPS if codes.size > FEW_ENTRIES else MANY_SWEEPS):
        for name, gone in absent.items():
            limits.check()
            predictors = [
                column
                for other in predictors_of(parents, name)
                for column in columns[other].T[1 if other in filled.codes else 0 :]  # the first chance follows
            ]
            if not predictors or not (name in filled.values or name in posterior):
                continue
            said = lines[name].predict(columns[name], predictors, np.flatnonzero(gone))
            if name in posterior:
                by_lines = np.clip(said, LEAST, 1.0)
                columns[name][gone] = (posterior[name] + by_lines / by_lines.sum(axis=1, keepdims=True)) / 2
            else:
                there = columns[name][~gone]
                columns[name][gone] = np.clip(said, there.min(), there.max())
    for name, gone in absent.items():
        if name in filled.values:
            filled.values[name][gone] = scales[name].nearest(columns[name][gone, 0])
        elif name in posterior:
            best = columns[name].argmax(axis=1)
            filled.codes[name][gone] = _levels(data.table.codes[name], states[name][0], best)[gone]
    return filled


def _scales(data: CodedTable) -> dict[str, Scale]:
    return {name: Scale.of(known.values) for name, known in data.ordered.items()}


def _chances(states: Codes) -> NDArray[np.float64]:
    """1 at the state of each row, [n, K]; of very many states the first ones alone."""
    return np.asarray(states[:, None] == np.arange(min(int(states.max()) + 1, MOST_STATES)), np.float64)


def _posterior(
    data: CodedTable, net: Network, codes: Codes, codings: Mapping[str, Coding]
) -> dict[str, NDArray[np.float64]]:
    """The network's chances of levels where they are missing, [holes, K] of each column of few levels."""
    holed, sizes = codes[data.table.holed_rows], net.structure.sizes
    told = {i: name for i, name in enumerate(data.names) if name in data.table.holes and name not in codings}
    kept = [i for i, name in told.items() if name in data.table.codes and sizes[i] <= MOST_STATES]
    return {told[i]: chances for i, chances in posteriors(net, holed, kept).items()}


def _network(
    data: CodedTable, parents: Parents, codings: Mapping[str, Coding], basis: CodedTable | None
) -> tuple[Network, Codes]:
    """The network that rows are completed by, and the rows as codes [rows, variables], -1 where missing."""
    names = data.names
    columns = data.recoded(codings).columns
    counted = columns if basis is None else basis.recoded(codings).columns
    tables = []
    for name in names:
        limits.check()
        found = [counted[parent].codes for parent in parents[name]]
        sizes = [columns[member].n_states for member in (*parents[name], name)]
        tables.append(posterior_means(family_counts(counted[name].codes, found, sizes), 1.0))
    net = network(positions({name: parents[name] for name in names}), tables)
    return net, np.stack([columns[name].codes for name in names], axis=1)


def _states(data: CodedTable, codes: Codes, completions: NDArray[np.integer]) -> States:
    """The codes of every variable, and the same with the rows that lack entries completed."""
    whole = codes.copy()
    whole[data.table.holed_rows] = completions
    return {name: (codes[:, i], whole[:, i]) for i, name in enumerate(data.names)}


def _filled(data: CodedTable, codings: Mapping[str, Coding], states: States, rng: np.random.Generator) -> Table:
    """Values and levels for the drawn states: those of rows that are known to be in the same one."""
    table = data.table
    values, codes = dict(table.values), dict(table.codes)
    for name in table.holes:
        known, drawn = states[name]
        columns: dict[str, NDArray] = values if name in values else codes
        if name in values or isinstance(codings.get(name), Grouping):
            absent = table.absent(name)
            columns[name] = columns[name].copy()
            columns[name][absent] = columns[name][_in_turn(known, drawn[absent], rng)]
        else:
            codes[name] = _levels(codes[name], known, drawn)
    return replace(table, values=values, codes=codes)


def _in_turn(known: Codes, drawn: Codes, rng: np.random.Generator) -> NDArray[np.intp]:
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


def _levels(codes: Codes, known: Codes, drawn: NDArray[np.integer]) -> Codes:
    """The levels of a column whose states are its observed levels, without gaps."""
    level_of = np.zeros(int(known.max()) + 1, np.int32)
    level_of[known[known != MISSING]] = codes[known != MISSING]
    return np.where(codes == MISSING, level_of[drawn], codes).astype(np.int32)
