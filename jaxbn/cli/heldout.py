"""The held-out score of a network beside others, and beside the paper's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxbn.cli.failures import tell
from jaxbn.cli.reading import Source

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.network import BayesNet
    from jaxbn.table import Table

# Mean log-likelihood in ten folds with the fixed structure of the paper, (Bayesian, MDL): Chen, Wheeler and
# Kochenderfer (2017). Without Heart and Iris, where the paper leaves out the class or its term.
PUBLISHED = {
    "auto_mpg": (-26.04, -30.40),
    "wine": (-19.94, -23.60),
    "housing": (-31.40, -43.20),
    "seeds": (-2.35, -5.71),
    "glass": (-1.62, -7.75),
    "liver_disorders": (-23.73, -26.57),
    "ilpd": (-34.89, -40.53),
    "banknote": (-8.99, -12.13),
}
BASELINES = ("equal_width", "equal_frequency")
ALL = ("bayesian", "mdl", *BASELINES)


def held_out(
    net: BayesNet, table: Table, folds: int, seed: int, everything: bool, chosen: dict[str, Any]
) -> pd.DataFrame | None:
    """Log-likelihood of held-out rows: the method used and bins made without regard to the others, or all methods."""
    if table.n_rows < 2:
        tell("one row cannot be held out: no cross-validation")
        return None
    from jaxbn.evaluate import compare

    methods = dict.fromkeys((chosen["method"], *(ALL if everything else BASELINES)))
    own = {key: chosen[key] for key in ("rate", "max_passes", "initial_bins") if key in chosen}
    return compare(table, net.parents, tuple(methods), folds=min(folds, table.n_rows), seed=seed, **own)


def published(source: Source) -> str:
    """The paper's figures for a built-in data set, in a sentence; nothing where there are none that compare."""
    if not source.builtin or source.name not in PUBLISHED:
        return ""
    bayesian, mdl = PUBLISHED[source.name]
    return f"The paper, with its own structure: {bayesian:.2f} (bayesian), {mdl:.2f} (mdl)."
