"""Improve by gradient what the discrete search leaves open: cuts in their gaps, Dirichlet weights, the rate."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from jaxbn.evaluation.folds import fold_numbers
from jaxbn.evaluation.inner_folds import gaps_of
from jaxbn.evaluation.refine_parts import learn_alpha, learn_rate, move_cuts
from jaxbn.evaluation.refine_results import Refined
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
    fold = _folds(inner_folds, seed, table)
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
    frame = pd.DataFrame.from_dict(parts, orient="index", columns=["before", "after"])
    return Refined(
        net=net,
        cuts=_moves(start, net, table),
        alpha=pd.DataFrame(weights, columns=["family", "before", "after"]),
        rate=rates,
        parts=frame.rename_axis("part"),
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


def _folds(inner_folds: int, seed: int, table: Table) -> NDArray[np.int64]:
    count = checks.at_least("inner_folds", inner_folds, 2)
    if count > table.n_rows:
        raise ValueError(f"inner_folds is {count} but there are {table.n_rows} rows; choose at most as many folds")
    return fold_numbers(count, seed, table, table)


def _moves(before: BayesNet, after: BayesNet, table: Table) -> pd.DataFrame:
    """Where each cut was and is."""
    import pandas as pd

    columns = ["variable", "cut", "before", "after", "gap"]
    parts = []
    for name, binning in before.binnings.items():
        gaps = gaps_of(table.values[name], binning.cuts)
        fields = [name, np.arange(len(binning.cuts)), binning.cuts, after.binnings[name].cuts, gaps.right - gaps.left]
        parts.append(pd.DataFrame(dict(zip(columns, fields, strict=True))))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
