"""New rows added to a fitted network: its counts go on, and with them the tables, as if it had been fitted once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.groups.grouping import Grouping
from jaxbn.inputs.columns import MISSING, Level, as_levels, encode
from jaxbn.inputs.graph import Parents, check_table_sizes
from jaxbn.inputs.later import pd
from jaxbn.model.inference.em import Counter, tell_left_out
from jaxbn.model.observations import encode_frame, frame_of, numbers_of, warn_caller
from jaxbn.model.rows.scores import score_samples
from jaxbn.runtime.threads import in_threads
from jaxbn.scores.tables import family_counts, k2_score, level_shares, posterior_means, shrunken_weights

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet

ODD, MANY, FEW = 0.01, 0.05, 5
"""Rows with a p-value up to the first are odd; a larger share of them than the second is told, from the third on."""

DRAWS = 1000  # rows of the network that new ones are compared with


def update(net: BayesNet, data: Any, tell: bool) -> BayesNet:
    """The network with new rows, see ``BayesNet.update``."""
    if not net.counts:
        raise ValueError(
            "the network keeps no counts, as those of other programs and of files of older versions; fit it again "
            "with jaxbn.fit(rows, net.parents, net.codings) to update it"
        )
    frame = frame_of(net, data)
    if tell:
        tell_unlike(net, frame)
    net = _with_levels(net, frame)
    added = _counts(net, encode_frame(net, frame, "error"))
    counts = {name: net.counts[name] + added[name] for name in net.names}
    level_counts = dict(net.level_counts)
    for name in net.groupings:
        level = encode(frame[name], net.levels[name], name=name)
        level_counts[name] = level_counts[name] + np.bincount(level[level != MISSING], minlength=len(net.levels[name]))
    bounds = dict(net.bounds)
    for name, values in numbers_of(net, frame, net.binnings).items():
        low, high = bounds[name]
        bounds[name] = float(np.fmin.reduce(values, initial=low)), float(np.fmax.reduce(values, initial=high))
    return recounted(net, counts, level_counts, bounds, net.n_rows + len(frame))


def recounted(
    net: BayesNet,
    counts: Mapping[str, NDArray[Any]],
    level_counts: Mapping[str, NDArray[Any]],
    bounds: Mapping[str, tuple[float, float]],
    n_rows: int,
    levels: Mapping[str, tuple[Level, ...]] | None = None,
    groupings: Mapping[str, Grouping] | None = None,
) -> BayesNet:
    """The network with the tables of other counts, of families and of the levels of grouped variables."""
    levels, groupings = levels or net.levels, groupings or net.groupings
    weights = table_weights(counts, net.alpha, net.alphas)
    return replace(
        net,
        alphas={name: float(np.mean(own)) for name, own in weights.items()} if net.alpha == "auto" else net.alphas,
        levels=dict(levels),
        groupings=dict(groupings),
        counts=dict(counts),
        level_counts=dict(level_counts),
        tables={name: posterior_means(found, weights[name]) for name, found in counts.items()},
        shares={
            n: level_shares(found, groupings[n](levels[n]), 1.0 if net.alpha == "auto" else weights[n])
            for n, found in level_counts.items()
        },
        bounds=dict(bounds),
        binnings={name: binning.stretched(*bounds[name]) for name, binning in net.binnings.items()},
        score=k2_sum(counts),
        n_rows=n_rows,
        trace=(),
        em_trace=(),
    )


def counts_of_families(
    parents: Parents, codes: Mapping[str, NDArray[np.int32]], cards: Mapping[str, int]
) -> dict[str, NDArray[Any]]:
    """Counts of all families [*parents, child], each over the rows that have all of it."""

    def counted(name: str) -> NDArray[Any]:
        found = parents[name]
        return family_counts(codes[name], [codes[parent] for parent in found], [cards[v] for v in (*found, name)])

    n_rows = max(map(len, codes.values()), default=0)
    return dict(zip(parents, in_threads(counted, parents, rows=n_rows), strict=True))


def table_weights(counts: Mapping[str, NDArray[Any]], alpha: Any, alphas: Mapping[str, float]) -> dict[str, Any]:
    """Dirichlet weights of each table: those that were given, or, with ``"auto"``, those that its counts ask for."""
    return {n: shrunken_weights(c) if alpha == "auto" else alphas.get(n, alpha) for n, c in counts.items()}


def k2_sum(counts: Mapping[str, NDArray[Any]]) -> float:
    """The score of all families."""
    score = 0.0
    for found in counts.values():  # one after the other: sum() would round differently
        score += k2_score(found)
    return score


def tell_unlike(net: BayesNet, frame: pd.DataFrame) -> None:
    """Warn if many of the new rows are odd, or outside the range, for the network as it is."""
    scores = score_samples(net, frame, DRAWS, 0, "missing")
    odd, said = int((scores.p_values <= ODD).sum()), []
    if odd >= FEW and odd > MANY * len(frame):
        oddest = (scores.variable_p_values <= ODD).sum().idxmax()
        said.append(
            f"{odd} of the {len(frame)} new rows are less probable than 99 % of those that the network would draw, "
            f"mostly by {oddest!r}"
        )
    for name, values in numbers_of(net, frame, net.binnings).items():
        low, high = net.bounds[name]
        outside = int(((values < low) | (values > high)).sum())
        if outside >= FEW and outside > MANY * len(frame):
            said.append(f"{outside} have a value of {name!r} outside its range so far")
    if said:
        warn_caller(f"{'; '.join(said)}: if the rows are right, learn the network again from all of them")


def _counts(net: BayesNet, codes: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    """Counts of all families in new rows, expected ones where entries are missing."""
    if (codes == MISSING).any():
        counter = Counter(net.network.structure, codes)
        expected = counter.expected(net.network).counts
        tell_left_out(counter.left_out)
        return dict(zip(net.names, expected, strict=True))
    return counts_of_families(net.parents, dict(zip(net.names, codes.T, strict=True)), net.cardinalities)


def _with_levels(net: BayesNet, frame: pd.DataFrame) -> BayesNet:
    """The network with the levels that some rows have and it has not, none of which was counted yet."""
    levels, groupings, level_counts = dict(net.levels), dict(net.groupings), dict(net.level_counts)
    for name in set(levels) & set(frame.columns):
        found, _ = as_levels(name, frame[name])
        new = [level for level in found if level not in net.levels[name]]
        if not new:
            continue
        levels[name] = _merged(name, net.levels[name], new)
        if name in groupings:
            groups = groupings[name].groups
            largest = max(groups, key=len)  # which is that of rare levels
            groups = tuple((*group, *new) if group is largest else group for group in groups)
            groupings[name] = replace(groupings[name], groups=groups)
            level_counts[name] = _padded(level_counts[name], [(net.levels[name], levels[name])])
    if levels == net.levels:
        return net
    axes: dict[str, Any] = {name: (range(size), range(size)) for name, size in net.cardinalities.items()}
    axes |= {name: (net.levels[name], levels[name]) for name in levels if name not in groupings}
    check_table_sizes(net.parents, {name: len(after) for name, (_, after) in axes.items()})
    counts = {name: _padded(net.counts[name], [axes[v] for v in (*found, name)]) for name, found in net.parents.items()}
    return recounted(net, counts, level_counts, net.bounds, net.n_rows, levels, groupings)


def _merged(name: str, known: tuple[Level, ...], new: Sequence[Level]) -> tuple[Level, ...]:
    """Levels with new ones: sorted if they were, as ``fit`` has them, and else at the end."""
    if {isinstance(level, str) for level in (*known, *new)} == {True, False}:
        raise ValueError(f"column {name!r} holds {new[0]!r}, of another type than its levels so far, {known[0]!r}")
    together = (*known, *new)
    return tuple(sorted(together)) if list(known) == sorted(known) else together


def _padded(counts: NDArray[Any], axes: Sequence[tuple[Sequence[Any], Sequence[Any]]]) -> NDArray[Any]:
    """Counts with zeros for states that are new; an axis is its states before and after."""
    padded = np.zeros([len(after) for _, after in axes], counts.dtype)
    padded[np.ix_(*(list(map(list(after).index, before)) for before, after in axes))] = counts
    return padded
