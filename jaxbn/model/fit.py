"""Fit a network with a given structure and given cuts: conditional tables and score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxbn.cuts.binning import Binning, date_forms
from jaxbn.groups.grouping import Grouping
from jaxbn.inputs.checks import ArgumentError, known_name, mapping, suggest
from jaxbn.inputs.columns import MAX_INTEGER_LEVELS, MISSING, Level
from jaxbn.inputs.graph import Parents, as_parents, check_table_sizes
from jaxbn.inputs.missing import LOG
from jaxbn.inputs.table import Missing, Table, as_frame, as_table
from jaxbn.inputs.units import NUMBER
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fitted import Alpha
from jaxbn.model.imputing.donors import evidence_inside_bins
from jaxbn.model.imputing.impute import Numbers
from jaxbn.model.inference.em import EMFit, Weight, fit_by_em, tell_left_out
from jaxbn.model.inference.network import Structure, positions
from jaxbn.model.lines.fit_lines import fit_lines
from jaxbn.model.lines.line import Lines, check_lines
from jaxbn.model.observations import bins_of
from jaxbn.model.rows.updating import counts_of_families, k2_sum, table_weights
from jaxbn.runtime import limits
from jaxbn.runtime.deprecated import old_keywords
from jaxbn.runtime.threads import in_threads
from jaxbn.scores.tables import level_shares, posterior_means
from jaxbn.sources.source import as_source


@old_keywords({"policies": "binnings"}, {})
@limits.within()
def fit(
    data: Any,
    graph: Any,
    binnings: Mapping[str, Binning | Grouping | ArrayLike] | None = None,
    *,
    alpha: Alpha | Mapping[str, float] = 1.0,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    continuous: Sequence[str] | None = None,
    discrete: Sequence[str] | None = None,
    missing: Missing = "infer",
    inside_bins: bool = False,
    lines: Lines = "auto",
) -> BayesNet:
    """Fit the conditional tables of a network.

    Args:
        data: rows, as ``as_table`` accepts them.
        graph: ``{child: [parents]}``, a ``networkx.DiGraph`` or ``(parent, child)`` pairs.
        binnings: a Binning, or its interior cuts, for each continuous column; the others are discrete. A Grouping
            for a discrete column whose levels are to be merged. Without any, the continuous columns are cut first, as
            ``jaxbn.discretize(data, graph)`` does.
        alpha: Dirichlet weight of each cell; the tables are posterior means. Or ``{child: weight}``, where the tables
            of children that are not named have a weight of 1. Or ``"auto"``, as in the networks of ``learn``: contexts
            with few rows lean on the table with one parent fewer, as much as the evidence of the counts asks for.
        bounds: (smallest, largest) value of continuous columns, the outer edges of their densities. By default the
            range of the data, widened to that of the data the binning was made from.
        continuous: without binnings, columns that are continuous whatever they hold; columns named neither here nor in
            ``discrete`` are inferred (see ``jaxbn.as_table``).
        discrete: without binnings, columns that are discrete whatever they hold.
        missing: what to do about missing entries. ``"infer"`` fits the tables to what each row has, by EM with exact
            expected counts: ``net.em_trace`` is the log-likelihood of what was observed, with the prior of the tables,
            after each round, and never falls. ``"error"`` refuses missing entries, ``"drop"`` drops the rows that have
            one, ``"state"`` makes being missing a state of its own (see ``jaxbn.as_table``).
        inside_bins: let where a row's numbers lie inside their bins have a say in what its missing numbers are, as
            ``learn`` does: what was observed is the numbers then, and not the bins alone. In tables of up to 20,000
            rows and a million entries.
        lines: ``"auto"`` lets numbers follow their continuous parents, and further numbers, inside bins, by one line
            for a family or one for each cell of its table, where that has evidence and the binning of the number has a
            shape, as those of ``learn`` and ``discretize`` have (``net.lines``). Tables and score do not depend on it.
            False for none.

    Returns:
        The fitted network. Its tables cover all bins and all declared levels; its score counts observed ones only, and
        is that of the expected counts where entries were missing.

    Example:
        >>> data = {"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0]}
        >>> net = jaxbn.fit(data, {"size": ["kind"]}, {"size": [4.5]})
        >>> net.tables["size"].tolist(), round(net.score, 3)
        ([[0.75, 0.25], [0.25, 0.75]], -5.598)
        >>> iris = jaxbn.datasets.load("iris")
        >>> jaxbn.fit(iris.frame, iris.structures["paper"]).binnings["petal_length"].n_bins > 2
        True
    """
    if as_source(data) is not None:
        from jaxbn.learning.large import fit_source

        options = {"alpha": alpha, "bounds": bounds, "inside_bins": inside_bins, "lines": lines}
        kinds = {"continuous": continuous, "discrete": discrete}
        return fit_source(data, graph, binnings, missing, options, kinds)
    if binnings is None:
        from jaxbn.learning.discretize import discretize

        data = as_table(data, continuous=continuous, discrete=discrete, missing=missing)
        binnings = discretize(data, graph).codings
    elif continuous is not None or discrete is not None:
        argument = "continuous" if continuous is not None else "discrete"
        raise ArgumentError(argument, "has no use with binnings, which name the continuous columns; leave it out")
    check_lines(lines)
    binnings = mapping("binnings", binnings, "{column: cuts}, such as jaxbn.discretize(...).codings")
    groupings = {str(name): p for name, p in binnings.items() if isinstance(p, Grouping)}
    cuts = {
        str(name): p if isinstance(p, Binning) else Binning(np.asarray(p, np.float64))
        for name, p in binnings.items()
        if not isinstance(p, Grouping)
    }
    table = _table(data, cuts, groupings, missing)
    parents = as_parents(graph, table.names)
    alpha, alphas = _weights(alpha, table.names)
    general = 1.0 if alpha == "auto" else alpha
    cuts = {name: cuts[name].in_unit(table.units.get(name, NUMBER)) for name in table.continuous}
    groupings = {name: groupings[name] for name in table.discrete if name in groupings}
    coded: dict[str, Binning | Grouping] = {**cuts, **groupings}
    cards = {n: coded[n].n_bins if n in coded else len(table.levels[n]) for n in table.names}
    check_table_sizes(parents, cards)
    bins = in_threads(lambda name: bins_of(cuts[name], table.values[name]), cuts, rows=table.n_rows)
    codes = {**table.codes, **dict(zip(cuts, bins, strict=True))}
    levels, level_counts, shares = dict(table.levels), {}, {}
    for name, grouping in groupings.items():
        codes[name] = np.append(grouping(table.levels[name], name=name), MISSING)[table.codes[name]]
        levels[name], level_counts[name] = _level_counts(grouping, table.levels[name], table.codes[name])
        shares[name] = level_shares(level_counts[name], grouping(levels[name]), alphas.get(name, general))
    counts = counts_of_families(parents, codes, cards)
    weights: dict[str, Weight] = table_weights(counts, alpha, alphas)
    if alpha == "auto":
        alphas = {name: float(np.mean(found)) for name, found in weights.items()}
    trace: tuple[float, ...] = ()
    tables = {name: posterior_means(counts[name], weights[name]) for name in parents}
    if any((column == MISSING).any() for column in codes.values()):
        structure = Structure(positions(parents), tuple(cards[name] for name in parents))
        rows = np.stack([codes[name] for name in parents], axis=1)
        try:
            found = _fitted_by_em(structure, rows, list(weights.values()), parents, table.values if inside_bins else {})
            counts, trace = dict(zip(parents, found.counts, strict=True)), found.trace
            tables = dict(zip(parents, found.network.tables, strict=True))
            tell_left_out(found.left_out)
        except limits.TimeIsUpError:  # not even a round of EM: the tables of the rows that have all of a family
            LOG.warning("no time for EM: each table is that of the rows that have all of its columns")
    bounds = mapping("bounds", bounds, "{column: (low, high)}")
    ends = {name: _bounds(name, table.values[name], cuts[name], bounds) for name in cuts}
    cuts = {name: binning.stretched(*ends[name]) for name, binning in cuts.items()}
    net = BayesNet(
        parents, cuts, levels, tables, ends, k2_sum(counts), table.n_rows, alpha, groupings, shares, alphas,
        em_trace=trace, counts=counts, level_counts=level_counts,
    )  # fmt: skip
    return replace(net, lines=fit_lines(net, codes, table.values)) if lines == "auto" else net


def _fitted_by_em(
    structure: Structure, codes: NDArray[np.int32], alphas: Sequence[Weight], parents: Parents, numbers: Numbers
) -> EMFit:
    """Tables fitted to the bins; then, from there, to the numbers that are given."""
    found = fit_by_em(structure, codes, alphas)
    if not numbers or not found.converged:
        return found
    with limits.ending_early():
        evidence = evidence_inside_bins(found.network, parents, codes, numbers, alphas)
        return fit_by_em(structure, codes, alphas, start=found.network, evidence=evidence) if evidence else found
    LOG.warning("ended early: the tables are fitted to bins, not to the numbers inside them")
    return found


def _weights(alpha: Alpha | Mapping[str, float], names: Sequence[str]) -> tuple[Alpha, dict[str, float]]:
    """The Dirichlet weight of the tables in general, and of those that have their own."""
    if alpha == "auto":
        return "auto", {}
    own = {str(name): weight for name, weight in alpha.items()} if isinstance(alpha, Mapping) else {}
    general = 1.0 if isinstance(alpha, Mapping) else alpha
    for name in own:
        known_name("alpha", name, names)
    for what, weight in [("alpha", general), *((f"alpha of {name!r}", weight) for name, weight in own.items())]:
        if not (isinstance(weight, int | float) and math.isfinite(weight) and weight > 0):
            raise ValueError(
                f"{what} must be a positive number, got {weight!r}; 1 is the uniform prior, alpha='auto' asks the rows"
            )
    return float(general), {name: float(weight) for name, weight in own.items()}


def _level_counts(
    grouping: Grouping, levels: Sequence[Level], codes: NDArray[np.int32]
) -> tuple[tuple[Level, ...], NDArray[np.int64]]:
    """The levels a grouped column has in the network, and how often each occurs."""
    codes = codes[codes != MISSING]  # of a missing entry the levels inside its group say nothing
    counts = dict(zip(levels, np.bincount(codes, minlength=len(levels)).tolist(), strict=True))
    known = tuple(levels) if len(levels) == len(grouping.levels) else grouping.levels
    return known, np.array([counts.get(level, 0) for level in known])


def _table(data: Any, binnings: Mapping[str, Binning], groupings: Mapping[str, Grouping], missing: Missing) -> Table:
    if isinstance(data, Table):
        for name in groupings:
            if name not in data.codes:
                raise ValueError(
                    f"binnings hold a grouping of {name!r}, which is not a discrete column; {suggest(name, data.codes)}"
                )
        if set(data.continuous) != set(binnings):
            odd = sorted(set(data.continuous) ^ set(binnings))
            raise ValueError(f"binnings must name exactly the continuous columns of the table; they differ in {odd}")
        return as_table(data, missing=missing)
    frame = as_frame(data)
    for name in (*binnings, *groupings):
        if name not in frame.columns:
            raise ValueError(f"binnings name {name!r}, which is not a column of the data; {suggest(name, frame)}")
    discrete = [name for name in frame.columns if name not in binnings]
    for name in discrete:
        column = frame[name]
        if name not in groupings and column.dtype.kind in "fiu" and column.nunique() > MAX_INTEGER_LEVELS:
            raise ValueError(
                f"column {name!r} has {column.nunique()} distinct numbers but no binning; add its cuts to binnings, "
                "drop it, or make it discrete with .astype(str)"
            )
    dates = date_forms(binnings)
    return as_table(frame, continuous=list(binnings), discrete=discrete, missing=missing, dates=dates)


def _bounds(
    name: str, values: NDArray[np.float64], binning: Binning, given: Mapping[str, Sequence[float]]
) -> tuple[float, float]:
    if name in given:
        low, high = given[name]
        return float(low), float(high)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if math.isfinite(binning.lower) and math.isfinite(binning.upper):
        low, high = min(low, binning.lower), max(high, binning.upper)
    return low, high
