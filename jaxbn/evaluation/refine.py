"""Improve by gradient what the discrete search leaves open: cuts in their gaps, Dirichlet weights, the rate.

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
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.methods import METHODS, Bayesian
from jaxbn.evaluation.cross_validate import cross_validate
from jaxbn.evaluation.folds import fold_numbers
from jaxbn.evaluation.inner_folds import Gaps, Setting, gaps_of, hold_out, setting_of
from jaxbn.inputs import checks
from jaxbn.inputs.columns import as_floats, encode
from jaxbn.inputs.graph import markov_blanket
from jaxbn.inputs.later import pd
from jaxbn.inputs.missing import LOG
from jaxbn.inputs.table import Table, as_frame
from jaxbn.kernels.gradient import Limits, Point, best_rate, climb
from jaxbn.learning.columns import Columns
from jaxbn.learning.discretize import discretize
from jaxbn.learning.holes.first import completed_once
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit
from jaxbn.runtime import limits
from jaxbn.runtime.devices import double
from jaxbn.runtime.shapes import bucket

Alpha = Literal["auto", "one", "family"]

RATE_ROUNDS = 20  # most turns of rate and cuts; they settle in a few, or alternate between two sets of cuts


@dataclass(frozen=True, eq=False, repr=False)
class Refined:
    """A refined network, and what was changed.

    Attributes:
        net: the network, fitted to the data with the new cuts and weights.
        cuts: a row for each cut: ``variable``, ``cut`` (its number), ``before``, ``after``, and ``gap``, the width of
            the gap between two neighbouring values that it lies in (0 for a cut that has to stay).
        alpha: a row for each family: ``family`` (the child), ``before``, ``after``.
        rate: L before and after, if it was learned.
        parts: a row for each part that was learned, ``"rate"``, ``"alpha"`` or ``"cuts"``, with the log-likelihood of a
            held-out row ``before`` and ``after``. No part lowers its own; the parts have folds of different kinds, so
            it is the gains that can be compared.

    Example:
        >>> iris = jaxbn.datasets.load("iris")
        >>> graph = iris.structures["paper"]
        >>> net = jaxbn.fit(iris.frame, graph, jaxbn.discretize(iris.frame, graph).binnings)
        >>> refined = jaxbn.refine(net, iris.frame)
        >>> refined.after > refined.before
        True
    """

    net: BayesNet
    cuts: pd.DataFrame
    alpha: pd.DataFrame
    rate: tuple[float, float] | None
    parts: pd.DataFrame

    @property
    def before(self) -> float:
        """Log-likelihood of a held-out row before anything was learned, on the folds of the first part."""
        return float(self.parts["before"].iloc[0])

    @property
    def after(self) -> float:
        """The same with the gains of all parts; never below ``before``."""
        return self.before + float((self.parts["after"] - self.parts["before"]).sum())

    def __repr__(self) -> str:
        lines = [f"Refined: log-likelihood of a held-out row {self.before:.4f} -> {self.after:.4f}"]
        width = max(map(len, self.parts.index))
        for part, before, after in self.parts.itertuples():
            lines.append(f"  {part:<{width}}  {after - before:+.4f}  {self._change(str(part))}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        frames = [self.parts.reset_index(), self.alpha, self.cuts]
        tables = "".join(frame.to_html(index=False, float_format="{:.5g}".format) for frame in frames)
        return f"<div><p><b>Refined</b></p>{tables}</div>"

    def _change(self, part: str) -> str:
        if part == "rate" and self.rate is not None:
            return f"{self.rate[0]:.3g} -> {self.rate[1]:.3g}"
        frame = self.cuts if part == "cuts" else self.alpha
        moved = frame[frame["before"] != frame["after"]]
        if part == "cuts":
            share = ((moved["after"] - moved["before"]).abs() / moved["gap"]).mean() if len(moved) else 0.0
            return f"{len(moved)} of {len(frame)} cuts moved, by {share:.0%} of their gap on average"
        now = frame["after"]
        return f"{len(moved)} of {len(frame)} weights changed, now {now.min():.3g} to {now.max():.3g}"


@limits.within()
def refine(
    net: BayesNet,
    data: Any,
    *,
    cuts: bool = True,
    alpha: Alpha | None = "auto",
    rate: bool = False,
    inner_folds: int = 5,
    seed: int = 0,
    steps: int = 300,
    learning_rate: float = 0.1,
) -> Refined:
    """Improve by gradient what the discrete search leaves open; the structure stays.

    Each part is judged by the log-likelihood of rows held out in inner folds, and kept only if that is not lowered.
    Moved cuts gain most where values repeat: a bin that holds one repeated value narrows around it. Without repeats
    they gain next to nothing. Weights for each family, and the rate, gain on some data and lose on others: they are not
    learned unless asked for.

    Args:
        net: a fitted network.
        data: the rows it was fitted to; columns that are not variables are ignored. Missing entries are filled in once,
            by a draw given the network.
        cuts: move the cuts off the midpoints of their gaps. No training row changes its bin. A cut stays half the
            smallest step between distinct values away from its neighbours, so that bins do not model rounding.
        alpha: learn the Dirichlet weight of the tables: ``"one"`` for all, or one for each ``"family"``; None keeps
            them. ``"auto"`` is ``"one"``, but keeps weights that follow from the counts, as those of ``learn``. Cuts
            found by a method are found again in each fold, with that method's defaults.
        rate: learn the rate L of the prior and cut the variables again with it, which may change the number of bins;
            only for networks cut with ``"bayesian"``, and compared with ``rate="network"``.
        inner_folds: how many folds.
        seed: shuffles the rows among the folds.
        steps: of Adam.
        learning_rate: of its first step; it falls to zero along half a cosine.

    Returns:
        The refined network, and what was changed by how much.

    Raises:
        ValueError: nothing to learn, data that lacks a variable, fewer rows than folds.

    Example:
        >>> iris = jaxbn.datasets.load("iris")
        >>> graph = iris.structures["paper"]
        >>> net = jaxbn.fit(iris.frame, graph, jaxbn.discretize(iris.frame, graph).binnings)
        >>> refined = jaxbn.refine(net, iris.frame, alpha="family")
        >>> list(refined.parts.index), refined.cuts["variable"].nunique()
        (['alpha', 'cuts'], 4)
    """
    if alpha == "auto":
        alpha = None if net.alpha == "auto" else "one"
    _check(net, cuts, alpha, rate)
    climber = checks.positive("learning_rate", learning_rate), checks.at_least("steps", steps, 1)
    table = _table(net, data)
    if table.holes:
        LOG.warning("missing entries are filled in once, by a draw; the network is refined on the completed table")
        table = completed_once(table, seed, net)
    if checks.at_least("inner_folds", inner_folds, 2) > table.n_rows:
        raise ValueError(
            f"inner_folds is {inner_folds} but there are {table.n_rows} rows; choose at most as many folds"
        )
    fold = fold_numbers(inner_folds, seed, table, table)
    rates, parts = None, {}
    with double():
        if rate:
            net, rates, parts["rate"] = _learn_rate(net, table, fold)
        start = net
        if alpha is not None:
            net, parts["alpha"] = _learn_alpha(net, table, fold, alpha == "one", climber)
        if cuts:
            net, parts["cuts"] = _move_cuts(net, table, fold, climber)
    weights = [(name, start.weight(name), net.weight(name)) for name in net.names]
    moves = []
    for name, binning in start.binnings.items():
        gaps = gaps_of(table.values[name], binning.cuts)
        each = (range(len(binning.cuts)), binning.cuts, net.binnings[name].cuts, gaps.right - gaps.left)
        moves += [(name, *row) for row in zip(*each, strict=True)]
    return Refined(
        net=net,
        cuts=pd.DataFrame(moves, columns=["variable", "cut", "before", "after", "gap"]),
        alpha=pd.DataFrame(weights, columns=["family", "before", "after"]),
        rate=rates,
        parts=pd.DataFrame.from_dict(parts, orient="index", columns=["before", "after"]).rename_axis("part"),
    )


def _check(net: BayesNet, cuts: bool, alpha: str | None, rate: bool) -> None:
    if alpha is not None:
        checks.one_of("alpha", alpha, ("one", "family"))
    elif not (cuts or rate):
        raise ValueError("there is nothing to learn: cuts and rate are False and alpha is None; ask for one of them")
    if not net.binnings and (cuts or rate):
        asked = "cuts" if cuts else "rate"
        raise ValueError(f"the network has no continuous variable, so {asked}=True has no use; pass {asked}=False")
    for name, binning in net.binnings.items():
        if rate and binning.method != "bayesian":
            raise ValueError(
                f"rate=True needs cuts made with method 'bayesian', but those of {name!r} are {binning.method!r}; pass "
                "rate=False, or binnings that jaxbn.discretize made"
            )


def _table(net: BayesNet, data: Any) -> Table:
    """The data with the levels of the network, which may be more than those in the rows."""
    if isinstance(data, Table):
        same = {name: data.levels[name] == net.levels[name] for name in data.discrete if name in net.levels}
        if set(data.names) != set(net.names) or set(data.continuous) != set(net.binnings) or not all(same.values()):
            raise ValueError("this Table has other variables or levels than the network; pass the original data")
        return replace(data, names=net.names)
    frame = as_frame(data)
    if lacking := [name for name in net.names if name not in frame.columns]:
        raise ValueError(
            f"the data lacks column(s) {', '.join(map(repr, lacking))}; {checks.suggest(lacking[0], frame)}"
        )
    values = {name: as_floats(name, frame[name], binning.unit) for name, binning in net.binnings.items()}
    codes = {name: encode(frame[name], net.levels[name], name=name) for name in net.levels}
    return Table(net.names, values, codes, dict(net.levels), len(frame), dict.fromkeys(net.names, "as in the network"))


def _learn_alpha(
    net: BayesNet, table: Table, fold: NDArray[np.int64], one: bool, climber: tuple[float, int]
) -> tuple[BayesNet, tuple[float, float]]:
    """New Dirichlet weights, from folds that have cuts of their own."""
    settings = []
    for k in range(int(fold.max()) + 1):
        of_fold = _cut_again(net, table.take(fold != k))
        fixed = {n: Gaps(p.cuts, p.cuts, p.cuts, np.full_like(p.cuts, 0.5)) for n, p in of_fold.binnings.items()}
        settings.append(setting_of(of_fold, table.values, _codes(of_fold, table), fixed))
    found, likelihood = _climb(net, settings, fold, {}, one, climber)
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


def _move_cuts(
    net: BayesNet, table: Table, fold: NDArray[np.int64], climber: tuple[float, int]
) -> tuple[BayesNet, tuple[float, float]]:
    """The cuts elsewhere in their gaps, from folds that have the same cuts at the same shares of wider gaps."""
    gaps = {name: gaps_of(table.values[name], net.binnings[name].cuts) for name in net.names if name in net.binnings}
    setting = setting_of(net, table.values, _codes(net, table), gaps)
    found, likelihood = _climb(net, [setting] * (int(fold.max()) + 1), fold, setting.gaps, False, climber)
    if likelihood[1] == likelihood[0]:
        return net, likelihood
    binnings, first = {}, 1
    for name, gap in gaps.items():
        on_ruler = setting.gaps[name]
        shares = found.shares[first : first + len(gap.cuts)]
        moved = net.inside(name).number(on_ruler.left + shares * (on_ruler.right - on_ruler.left))
        # rounding on the ruler must not carry a training row into another bin
        stay = ~on_ruler.free | (moved <= gap.left) | (moved > gap.right)
        binnings[name] = replace(net.binnings[name], cuts=np.where(stay, gap.cuts, moved))
        first += len(gap.cuts) + 2  # and its last edge, and the first of the next variable
    return fit(table, net.parents, {**net.codings, **binnings}, alpha=_alpha(net), bounds=net.bounds), likelihood


def _climb(
    net: BayesNet,
    settings: Sequence[Setting],
    fold: NDArray[np.int64],
    gaps: Mapping[str, Gaps],
    together: bool,
    climber: tuple[float, int],
) -> tuple[Point, tuple[float, float]]:
    """The best shares of gaps, or weights if there are none; log-likelihood of a held-out row before and after."""
    folds = hold_out(settings, fold)
    n_edges, n_families = folds.low.shape[1], bucket(len(net.names), 16)
    alpha = [net.weight(name) for name in net.names] + [1.0] * (n_families - len(net.names))
    original = Point(_by_edge([gap.shares for gap in gaps.values()], n_edges), np.log(alpha))
    movable = Limits(
        free=_by_edge([gap.free for gap in gaps.values()], n_edges) == 1.0,
        margin=_by_edge([gap.margin for gap in gaps.values()], n_edges),
        families=np.arange(n_families) < (0 if gaps else len(net.names)),
        together=np.bool_(together),
    )
    learning_rate, steps = climber
    found = climb(original, movable, folds, np.float64(learning_rate), steps=steps)
    point = Point(np.asarray(found.point.shares), np.asarray(found.point.log_alpha))
    base = float(np.mean(np.array([setting.log_base for setting in settings])[fold, np.arange(len(fold))]))
    return point, (float(found.before) / len(fold) + base, float(found.after) / len(fold) + base)


def _by_edge(parts: Sequence[NDArray[Any]], n_edges: int) -> NDArray[np.float64]:
    """A number for each edge of all variables; outer edges and padding have one half."""
    flat = np.concatenate([[], *([0.5, *part, 0.5] for part in parts)])
    return np.append(flat, np.full(n_edges - len(flat), 0.5))


def _codes(net: BayesNet, table: Table) -> dict[str, NDArray[np.int32]]:
    """Every variable as the tables of the network count it."""
    bins = {name: binning(table.values[name]) for name, binning in net.binnings.items()}
    groups = {name: net.group_codes[name][table.codes[name]] for name in net.groupings}
    return bins | table.codes | groups


def _alpha(net: BayesNet) -> Any:
    """The Dirichlet weights of the tables, as ``fit`` takes them."""
    return net.alpha if net.alpha == "auto" else {name: net.weight(name) for name in net.names}


def _learn_rate(
    net: BayesNet, table: Table, fold: NDArray[np.int64]
) -> tuple[BayesNet, tuple[float, float], tuple[float, float]]:
    """Rate and cuts in turns, the network cut with what they settle at, and the log-likelihood of a held-out row."""
    before = rate = float(max(net.cardinalities.values()))
    found: Any = net
    for _ in range(RATE_ROUNDS):
        last, rate = found.binnings, _rate_of(found.binnings, net, table, rate)
        found = discretize(table, net.parents, method=Bayesian(rate=rate), columns=_merged(net))
        if all(np.array_equal(found.binnings[name].cuts, last[name].cuts) for name in last):
            break
    usual, learned = (
        float(cross_validate(table, net.parents, method=each, folds=fold, columns=_merged(net)).log_likelihood.mean())
        for each in (Bayesian(), Bayesian(rate=rate))
    )
    if not learned > usual:
        return net, (before, before), (usual, usual)
    again = fit(table, net.parents, found.codings, alpha=_alpha(net), bounds=net.bounds)
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
