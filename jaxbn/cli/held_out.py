"""The held-out score of a network, beside those of other methods and of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxbn.cli.errors import keep, tell, warn
from jaxbn.cli.read_table import NamedTable
from jaxbn.runtime import limits

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.inputs.table import Table
    from jaxbn.model.bayesnet import BayesNet

NOT_COMPARABLE = ("heart", "iris")
"""Data sets for which the paper leaves out the class or its term."""

MANY_ENTRIES = 50_000
"""Tables of up to this many entries are compared by all methods without being asked."""

ALL = ("evidence", "bayesian", "mdl", "equal_width", "equal_frequency")


def held_out(
    net: BayesNet, table: Table, folds: int, seed: int, everything: bool, chosen: dict[str, Any]
) -> pd.DataFrame | None:
    """Log-likelihood of held-out rows on the structure found: the method used beside plain bins, or beside all others.

    Plain bins get the number that serves them best on the training rows. None after Ctrl-C, and for a single row.
    """
    if table.n_rows < 2:
        tell("one row cannot be held out: no cross-validation")
        return None
    if net.search and not net.search.finished:  # whoever pressed Ctrl-C, or set a limit, wants to see what there is
        tell("no held-out scores of a network that was ended early; jaxbn evaluate computes them")
        return None
    from jaxbn.evaluation.compare import compare

    method = chosen.get("method", ALL[0])
    everything = everything or table.n_rows * len(table.names) <= MANY_ENTRIES
    others = [other for other in (ALL if everything else ALL[-2:]) if other != method]
    from jaxbn.cuts.methods import each_method, users_of
    from jaxbn.learning.options import in_objects

    methods = each_method([method, *others], {key: chosen[key] for key in chosen if users_of(key)})
    columns = in_objects({key: chosen[key] for key in ("merge_levels", "cuts") if key in chosen})
    left = chosen["time_limit"] - net.search.seconds if "time_limit" in chosen and net.search else None
    with limits.within(left), limits.ending_early() as ending:
        return compare(table, net.parents, methods, folds=min(folds, table.n_rows), seed=seed, **columns)
    # the network is what takes long to learn, and it is there
    if ending.interrupted:
        keep("the network")
    reason = "interrupted" if ending.interrupted else "the time is up"
    warn(f"{reason}: no held-out scores; the network is kept (--folds 0 leaves the scores out from the start)")
    return None


def published(source: NamedTable) -> str:
    """The paper's figures for a built-in data set in a sentence; empty if it has none that can be compared."""
    from jaxbn.paper.published import LOG_LIKELIHOOD

    figures = LOG_LIKELIHOOD.get((source.name, "paper"))
    if not source.builtin or figures is None or source.name in NOT_COMPARABLE:
        return ""
    return f"The paper, with its own structure: {figures[0]:.2f} (bayesian), {figures[1]:.2f} (mdl)."
