"""What the discrete search leaves open, by gradient: where in its gap a cut lies, the Dirichlet weights, the rate.

Everything is judged on inner folds of the data, by the log-likelihood of rows that are held out (docs/maths.md,
"Evaluation").

- Cuts. What is learned is the share of its gap at which each cut lies; how a fold judges a share is explained in
  ``inner_folds``. A held-out value inside a gap is on one side of the cut or the other: for the gradient it belongs to
  both bins by degrees (a sigmoid a tenth of the gap wide), for the verdict to the one it is in. A few rows decide about
  each cut, so a prior of the shares keeps it near the middle: Beta(2, 2), ln 4 s (1 - s), of the weight of one row.
- Weights. One Dirichlet weight for all tables, or one for each. Cuts that were chosen by the very rows a fold holds out
  make the tables look sharper than they are, and the weights come out too small. So each fold has its own cuts, found
  from the other folds' rows; only cuts that no method chose are kept as they are.
- Rate. L of the prior enters through the cuts alone. Given them, p(cuts | L) is smooth in L; given the best L the cuts
  are found again, until they stay the same. The outcome is kept if it describes inner folds better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.methods import METHODS, Bayesian
from jaxbn.evaluation.cross_validate import cross_validate
from jaxbn.evaluation.inner_folds import Gaps, Setting, gaps_of, hold_out, setting_of
from jaxbn.inputs.graph import markov_blanket
from jaxbn.inputs.table import Table
from jaxbn.kernels.gradient import Limits, Point, best_rate, climb
from jaxbn.learning.columns import Columns
from jaxbn.learning.discretize import discretize
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit
from jaxbn.model.fitted import Alpha
from jaxbn.runtime.shapes import bucket

RATE_ROUNDS = 20
"""Most turns of rate and cuts; they settle in a few, or alternate between two sets of cuts."""


def learn_alpha(
    net: BayesNet, table: Table, fold: NDArray[np.int64], one: bool, climber: Mapping[str, Any]
) -> tuple[BayesNet, tuple[float, float]]:
    """New Dirichlet weights, from folds that have cuts of their own."""
    settings = []
    for k in range(int(fold.max()) + 1):
        of_fold = _cut_again(net, table.take(fold != k))
        gaps = {name: gaps_of(table.values[name], p.cuts).shut() for name, p in of_fold.binnings.items()}
        settings.append(setting_of(of_fold, table.values, _codes(of_fold, table), gaps))
    found, likelihood = _climb(net, settings, fold, {}, True, one, climber)
    weights = dict(zip(net.names, np.exp(found.log_alpha).tolist(), strict=False))
    if likelihood[1] == likelihood[0]:
        return net, likelihood
    alpha = weights[net.names[0]] if one else weights
    return fit(table, net.parents, net.codings, alpha=alpha, bounds=net.bounds), likelihood


def _cut_again(net: BayesNet, table: Table) -> BayesNet:
    """The network as the rows of the table alone would have cut it; cuts that no method chose are kept."""
    methods = {binning.method for binning in net.binnings.values()}
    codings = net.codings
    if len(methods) == 1 and methods <= set(METHODS):
        codings = discretize(table, net.parents, method=methods.pop(), columns=_merged(net)).codings
    return fit(table, net.parents, codings, bounds=net.bounds)


def move_cuts(
    net: BayesNet, table: Table, fold: NDArray[np.int64], climber: Mapping[str, Any]
) -> tuple[BayesNet, tuple[float, float]]:
    """The cuts elsewhere in their gaps, from folds that have the same cuts at the same shares of wider gaps."""
    gaps = {name: gaps_of(table.values[name], net.binnings[name].cuts) for name in net.names if name in net.binnings}
    setting = setting_of(net, table.values, _codes(net, table), gaps)
    found, likelihood = _climb(net, [setting] * (int(fold.max()) + 1), fold, setting.gaps, False, False, climber)
    if likelihood[1] == likelihood[0]:
        return net, likelihood
    binnings, first = {}, 1
    for name, gap in gaps.items():
        on_ruler = setting.gaps[name]
        moved = net.inside(name).number(on_ruler.at(found.shares[first : first + len(gap.cuts)]))
        # rounding on the ruler must not carry a training row into another bin
        stay = ~on_ruler.free | (moved <= gap.left) | (moved > gap.right)
        binnings[name] = replace(net.binnings[name], cuts=np.where(stay, gap.cuts, moved))
        first += len(gap.cuts) + 2  # and its last edge, and the first of the next variable
    codings = {**net.codings, **binnings}
    return fit(table, net.parents, codings, alpha=_alpha(net), bounds=net.bounds), likelihood


def _climb(
    net: BayesNet,
    settings: Sequence[Setting],
    fold: NDArray[np.int64],
    gaps: Mapping[str, Gaps],
    families: bool,
    together: bool,
    climber: Mapping[str, Any],
) -> tuple[Point, tuple[float, float]]:
    """The best shares and weights, and the log-likelihood of a held-out row before and after."""
    folds = hold_out(settings, fold)
    n_edges, n_families = folds.low.shape[1], bucket(len(net.names), 16)
    alpha = [net.weight(name) for name in net.names] + [1.0] * (n_families - len(net.names))
    original = Point(_by_edge([gap.shares for gap in gaps.values()], n_edges), np.log(alpha))
    limits = Limits(
        free=_by_edge([gap.free for gap in gaps.values()], n_edges) == 1.0,
        margin=_by_edge([gap.margin for gap in gaps.values()], n_edges),
        families=np.arange(n_families) < (len(net.names) if families else 0),
        together=np.bool_(together),
    )
    found = climb(original, limits, folds, np.float64(climber["learning_rate"]), steps=climber["steps"])
    point = Point(np.asarray(found.point.shares), np.asarray(found.point.log_alpha))
    base = float(np.mean(np.array([setting.log_base for setting in settings])[fold, np.arange(len(fold))]))
    return point, (float(found.before) / len(fold) + base, float(found.after) / len(fold) + base)


def _by_edge(parts: Sequence[NDArray[Any]], n_edges: int) -> NDArray[np.float64]:
    """A number for each edge of all variables; outer edges and padding have one half."""
    flat = np.concatenate([[], *([0.5, *part, 0.5] for part in parts)])
    return np.append(flat, np.full(n_edges - len(flat), 0.5))


def _codes(net: BayesNet, table: Table) -> dict[str, NDArray[np.int32]]:
    """Every variable as the tables of the network count it."""
    codes = {name: binning(table.values[name]) for name, binning in net.binnings.items()}
    for name in net.levels:
        own = table.codes[name]
        codes[name] = net.group_codes[name][own].astype(np.int32) if name in net.groupings else own
    return codes


def _alpha(net: BayesNet) -> Alpha | dict[str, float]:
    """The Dirichlet weights of the tables, as ``fit`` takes them."""
    return net.alpha if net.alpha == "auto" else {name: net.weight(name) for name in net.names}


def learn_rate(
    net: BayesNet, table: Table, fold: NDArray[np.int64]
) -> tuple[BayesNet, tuple[float, float], tuple[float, float]]:
    """Rate and cuts in turns, the network cut with what they settle at, and the log-likelihood of a held-out row."""
    before = rate = float(max(net.cardinalities.values()))
    codings, binnings = net.codings, net.binnings
    for _ in range(RATE_ROUNDS):
        rate = _rate_of(binnings, net, table, rate)
        found = discretize(table, net.parents, method=Bayesian(rate=rate), columns=_merged(net))
        settled = all(np.array_equal(found.binnings[name].cuts, binnings[name].cuts) for name in binnings)
        codings, binnings = found.codings, found.binnings
        if settled:
            break
    usual, learned = (
        float(cross_validate(table, net.parents, method=each, folds=fold, columns=_merged(net)).log_likelihood.mean())
        for each in (Bayesian(), Bayesian(rate=rate))
    )
    if not learned > usual:
        return net, (before, before), (usual, usual)
    again = fit(table, net.parents, codings, alpha=_alpha(net), bounds=net.bounds)
    return again, (before, rate), (usual, learned)


def _rate_of(binnings: Mapping[str, Binning], net: BayesNet, table: Table, rate: float) -> float:
    """The rate under which the cuts are most probable; variables without neighbours have cuts that no rate chose."""
    shares = [np.empty(0)]
    for name, binning in binnings.items():
        values = table.values[name]
        if markov_blanket(net.parents, name) and np.ptp(values) > 0:
            gaps = gaps_of(values, binning.cuts)
            shares.append((gaps.right - gaps.left) / np.ptp(values))
    flat = np.concatenate(shares)
    padded = np.append(flat, np.zeros(bucket(len(flat), 64) - len(flat)))
    return float(best_rate(np.float64(rate), padded, np.float64(len(shares) - 1)))


def _merged(net: BayesNet) -> Columns:
    """The columns whose levels a network has merged."""
    return Columns(merge_levels=tuple(net.groupings))
