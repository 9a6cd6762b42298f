"""Pictures of a posterior with matplotlib: arcs with their probabilities, cuts along an axis, F along the chains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jaxbn.drawing.plots import GREY, new_axes, plot_network
from jaxbn.drawing.svg import BLUE, ORANGE, averaged, histogram, top_of_scale
from jaxbn.inputs.checks import suggest
from jaxbn.model.fit import fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jaxbn.model.bayesnet import BayesNet
    from jaxbn.posterior.results import Posterior


def consensus_network(found: Posterior, threshold: float) -> BayesNet:
    """The consensus graph with the cuts of the most probable draw, to be drawn."""
    best = max(found.draws, key=lambda draw: draw.evidence)
    return fit(found.table, found.consensus(threshold), best.codings)


def plot_arcs(found: Posterior, ax: Axes | None = None, threshold: float = 0.5) -> Axes:
    """The consensus network with the probability of each arc, see ``Posterior.plot_arcs``."""
    strengths = {(row["from"], row["to"]): row["strength"] for row in found.arcs.to_dict("records")}
    return plot_network(consensus_network(found, threshold), ax, strengths=strengths, directions="all")


def plot_cuts(found: Posterior, name: str, ax: Axes | None = None) -> Axes:
    """Probabilities of cuts along a variable, over its histogram and average density; see ``Posterior.plot_cuts``."""
    if name not in found.table.values:
        raise ValueError(f"{name!r} is not a continuous variable; {suggest(name, found.table.continuous)}")
    ax = new_axes(ax, (6, 3.4))
    values = found.table.values[name]
    bars, borders = histogram(values, float(values.min()), float(values.max()))
    ax.bar(borders[:-1], bars, np.diff(borders), align="edge", color=GREY, label="data")
    top = float(bars.max(initial=0.0))
    if values.min() < values.max():
        edges, density = averaged(found.average.density(name), np.empty(0))
        ax.stairs(density, edges, color=BLUE, linewidth=1.8, label="average density")
        top = top_of_scale(density, bars)
    ax.set_ylim(0, 1.05 * top)
    ax.set_xlabel(name)
    ax.set_ylabel("density")
    ax.spines["top"].set_visible(False)
    right = ax.twinx()
    own = found.cuts[found.cuts["variable"] == name]
    right.vlines(own["cut"], 0, own["probability"], color=ORANGE, linewidth=1.4, label="probability of a cut")
    right.set_ylim(0, 1)
    right.set_ylabel("probability of a cut")
    right.spines["top"].set_visible(False)
    lines = [handle for axes in (ax, right) for handle in axes.get_legend_handles_labels()[0]]
    ax.legend(lines, [str(line.get_label()) for line in lines], frameon=False, fontsize=8)
    return ax


def plot_trace(found: Posterior, ax: Axes | None = None) -> Axes:
    """F along each chain, see ``Posterior.plot_trace``."""
    ax = new_axes(ax, (6, 3))
    for chain, own in found.trace.groupby("chain"):
        ax.plot(own["sweep"], own["evidence"], linewidth=1, marker=".", markersize=3, label=f"chain {chain}")
    ax.set_xlabel("sweep")
    ax.set_ylabel("F, log evidence of the table")
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
