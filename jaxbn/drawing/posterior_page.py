"""What a notebook and the report show of a posterior: probabilities of arcs, of cuts and of numbers of bins."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from jaxbn.drawing import svg as figures
from jaxbn.drawing.notebook import html_table
from jaxbn.drawing.posterior_plots import consensus_network
from jaxbn.posterior.results import group_counts

if TYPE_CHECKING:
    from jaxbn.posterior.results import Posterior

CERTAIN = 0.5
"""Arcs above this probability are drawn."""

MOST_CUTS = 6
"""Cuts of a variable that are named."""


def posterior_html(found: Posterior) -> str:
    """The consensus network drawn with probabilities, a line for each arc, and one for each variable."""
    strengths = {(row["from"], row["to"]): row["strength"] for row in found.arcs.to_dict("records")}
    picture = figures.network_svg(consensus_network(found, CERTAIN), strengths, "all")
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
