"""A posterior as the report, notebooks and matplotlib show it: how probable arcs, cuts and numbers of bins are."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from jaxbn.drawing.notebook import html_table
from jaxbn.drawing.plots import draw_variable, new_axes, plot_network
from jaxbn.drawing.svg import ORANGE, network_svg
from jaxbn.inputs.checks import suggest
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit
from jaxbn.posterior.results import Posterior, group_counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CERTAIN = 0.5  # arcs above this probability are drawn
MOST_CUTS = 6  # cuts of a variable that are named


def posterior_html(found: Posterior) -> str:
    """The consensus network drawn with probabilities, a line for each arc, and one for each variable."""
    picture = network_svg(consensus_network(found, CERTAIN), _strengths(found), "all")
    head = escape(repr(found).splitlines()[0])
    return (
        f'<div><p><b>{head}</b></p><div style="overflow-x:auto">{picture}</div>'
        f"{html_table(('arc', 'probability', 'in either direction'), arc_rows(found))}"
        f"{html_table(('variable', 'bins', 'most probable cuts'), cut_rows(found))}</div>"
    )


def arc_rows(found: Posterior) -> list[tuple[str, str, str]]:
    """Every arc that was drawn, the most probable first."""
    drawn = found.arcs[found.arcs["probability"] > 0].sort_values("probability", ascending=False, kind="stable")
    return [
        (f"{row['from']} → {row['to']}", f"{row['probability']:.2f}", f"{row['strength']:.2f}")
        for row in drawn.to_dict("records")
    ]


def cut_rows(found: Posterior) -> list[tuple[str, str, str]]:
    """Every continuous variable: how many bins, and its most probable cuts; every grouped one: how many groups."""
    rows = []
    for name in found.table.continuous:
        bins = found.bins[found.bins["variable"] == name]
        mean = float((bins["bins"] * bins["probability"]).sum())
        cuts = found.cuts[found.cuts["variable"] == name].nlargest(MOST_CUTS, "probability").sort_values("cut")
        words = ", ".join(f"{c:.6g} ({p:.0%})" for c, p in zip(cuts["cut"], cuts["probability"], strict=True))
        spread = f"{bins['bins'].min()} to {bins['bins'].max()}, mean {mean:.1f}"
        rows.append((name, spread + (" (grid)" if name in found.on_grid else ""), words))
    return [*rows, *((name, group_counts(found, name), "") for name in found.draws[0].groupings)]


def agreement(found: Posterior) -> str:
    """Whether the chains agree, in a sentence."""
    r_hats = found.diagnostics["r_hat"].dropna()
    if not len(r_hats):
        return "Too few draws to tell whether the chains agree."
    size = found.diagnostics["effective_size"].get("evidence", float("nan"))
    worst = r_hats.max()  # infinite where every chain has a value of its own throughout
    return (
        f"Effective number of draws of F: {size:.0f} of {len(found.draws)}. Largest R-hat: {worst:.2f} "
        f"({r_hats.idxmax()}); above 1.05 the chains do not agree yet, and more draws are needed."
    )


def consensus_network(found: Posterior, threshold: float) -> BayesNet:
    """The consensus graph with the cuts of the most probable draw, to be drawn."""
    best = max(found.draws, key=lambda draw: draw.evidence)
    return fit(found.table, found.consensus(threshold), best.codings)


def _strengths(found: Posterior) -> dict[tuple[str, str], float]:
    """How probable an arc is in either direction, by (parent, child)."""
    return {(row["from"], row["to"]): row["strength"] for row in found.arcs.to_dict("records")}


def plot_arcs(found: Posterior, ax: Axes | None = None, threshold: float = 0.5) -> Axes:
    """The consensus network with the probability of each arc, see ``Posterior.plot_arcs``."""
    return plot_network(consensus_network(found, threshold), ax, strengths=_strengths(found), directions="all")


def plot_cuts(found: Posterior, name: str, ax: Axes | None = None) -> Axes:
    """Probabilities of cuts along a variable, over its histogram and average density; see ``Posterior.plot_cuts``."""
    if name not in found.table.values:
        raise ValueError(f"{name!r} is not a continuous variable; {suggest(name, found.table.continuous)}")
    values = found.table.values[name]
    curve = found.average.density(name) if values.min() < values.max() else None
    ax = draw_variable(new_axes(ax, (6, 3.4)), np.empty(0), curve, values, "average density")
    ax.set_xlabel(name)
    right = ax.twinx()
    own = found.cuts[found.cuts["variable"] == name]
    right.vlines(own["cut"], 0, own["probability"], color=ORANGE, linewidth=1.4, label="probability of a cut")
    right.set(ylim=(0, 1), ylabel="probability of a cut")
    right.spines["top"].set_visible(False)
    lines = [handle for axes in (ax, right) for handle in axes.get_legend_handles_labels()[0]]
    ax.legend(lines, [str(line.get_label()) for line in lines], frameon=False, fontsize=8)
    return ax


def plot_trace(found: Posterior, ax: Axes | None = None) -> Axes:
    """F along each chain, see ``Posterior.plot_trace``."""
    ax = new_axes(ax, (6, 3))
    for chain, own in found.trace.groupby("chain"):
        ax.plot(own["sweep"], own["evidence"], linewidth=1, marker=".", markersize=3, label=f"chain {chain}")
    ax.set(xlabel="sweep", ylabel="F, log evidence of the table")
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
