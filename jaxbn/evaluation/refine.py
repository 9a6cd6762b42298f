"""Improve by gradient what the discrete search leaves open: cuts in their gaps, Dirichlet weights, the rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from jaxbn.evaluation.folds import fold_numbers
from jaxbn.evaluation.inner_folds import gaps_of
from jaxbn.evaluation.refine_parts import learn_alpha, learn_rate, move_cuts
from jaxbn.inputs import checks
from jaxbn.inputs.checks import suggest
from jaxbn.inputs.columns import as_floats, encode
from jaxbn.inputs.missing import LOG
from jaxbn.inputs.table import Table, as_frame
from jaxbn.learning.holes.completion import completed_by
from jaxbn.model.bayesnet import BayesNet
from jaxbn.runtime import limits
from jaxbn.runtime.devices import double

if TYPE_CHECKING:
    import pandas as pd

Alpha = Literal["auto", "one", "family"]


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
        >>> import jaxbn
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
        >>> import jaxbn
        >>> iris = jaxbn.datasets.load("iris")
        >>> graph = iris.structures["paper"]
        >>> net = jaxbn.fit(iris.frame, graph, jaxbn.discretize(iris.frame, graph).binnings)
        >>> refined = jaxbn.refine(net, iris.frame, alpha="family")
        >>> list(refined.parts.index), refined.cuts["variable"].nunique()
        (['alpha', 'cuts'], 4)
    """
    import pandas as pd

    if alpha == "auto":
        alpha = None if net.alpha == "auto" else "one"
    _check(net, cuts, alpha, rate)
    climber = {
        "learning_rate": checks.positive("learning_rate", learning_rate),
        "steps": checks.at_least("steps", steps, 1),
    }
    table = _table(net, data)
    if table.holes:
        LOG.warning("missing entries are filled in once, by a draw; the network is refined on the completed table")
        table = completed_by(net, table, seed)
    if checks.at_least("inner_folds", inner_folds, 2) > table.n_rows:
        raise ValueError(
            f"inner_folds is {inner_folds} but there are {table.n_rows} rows; choose at most as many folds"
        )
    fold = fold_numbers(inner_folds, seed, table, table)
    rates, parts = None, {}
    with double():
        if rate:
            net, rates, parts["rate"] = learn_rate(net, table, fold)
        start = net
        if alpha is not None:
            net, parts["alpha"] = learn_alpha(net, table, fold, alpha == "one", climber)
        if cuts:
            net, parts["cuts"] = move_cuts(net, table, fold, climber)
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
    if not (cuts or rate or alpha is not None):
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
    lacking = [name for name in net.names if name not in frame.columns]
    if lacking:
        raise ValueError(f"the data lacks column(s) {', '.join(map(repr, lacking))}; {suggest(lacking[0], frame)}")
    values = {name: as_floats(name, frame[name], binning.unit) for name, binning in net.binnings.items()}
    codes = {name: encode(frame[name], net.levels[name], name=name) for name in net.levels}
    return Table(net.names, values, codes, dict(net.levels), len(frame), dict.fromkeys(net.names, "as in the network"))
