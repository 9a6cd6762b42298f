"""The paper's figures, drawn from the networks computed here."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxbn import datasets
from jaxbn.drawing import plots
from jaxbn.learning.discretize import discretize
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit
from jaxbn.runtime.files import replacing

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.paper.page import Page

DPI = 130
PAIRS = {"auto_mpg": [("A", "C")], "wine": [("E", "K")], "housing": [("C", "E"), ("H", "E")]}
"""Pairs of variables that the paper draws, in its letters."""


def fixed_structures(page: Page, quick: bool) -> None:
    """Marginals of Auto MPG, and pairs of variables, for the given structures."""
    for name in ("auto_mpg", "wine") if quick else PAIRS:
        data = datasets.load(name)
        net = fit(
            data.frame,
            data.structures["paper"],
            discretize(data.frame, data.structures["paper"], method="bayesian").binnings,
        )
        if name == "auto_mpg":
            for letter in "AC":
                column = data.letters[letter]
                caption = f"{name}: marginal density of {letter} ({column}) with its cuts, over the data"
                page.picture(f"{name}_{letter}", caption, _saver(plots.plot_marginal, net, data.frame, column))
        _pairs(page, name, "fixed", net, data)


def learned_network(page: Page, name: str, net: BayesNet) -> None:
    """A learned network with its bins, and the paper's pairs of variables under it."""
    page.picture(
        f"{name}_learned", f"{name}: the learned network", _saver(partial(plots.plot_network, directions="all"), net)
    )
    _pairs(page, name, "learned", net, datasets.load(name))


def _pairs(page: Page, name: str, kind: str, net: BayesNet, data: datasets.Dataset) -> None:
    for x, y in PAIRS[name]:
        columns = data.letters[x], data.letters[y]
        caption = f"{name}, {kind} structure: density of {x} ({columns[0]}) and {y} ({columns[1]}), with the data"
        page.picture(f"{name}_{kind}_{x}{y}", caption, _saver(plots.plot_pair, net, data.frame, *columns))


def curves(frame: pd.DataFrame, path: Path) -> None:
    """The synthetic study: ours as lines, the published values as crosses."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axis, column in zip(figure.subplots(1, 2), ("log-likelihood", "edges"), strict=True):
        for (method, rows), colour in zip(frame.groupby("method"), ("black", "tab:gray"), strict=True):
            axis.plot(rows["training rows"], rows[column], color=colour, label=method)
            axis.plot(
                rows["training rows"], rows[f"published {column}"], "x", color=colour, label=f"{method}, published"
            )
        axis.set_xlabel("training rows")
        axis.set_ylabel(column)
        axis.legend(frameon=False, fontsize=8)
    with replacing(path) as draft:
        figure.savefig(draft, format="png", dpi=DPI)


def _saver(plot: Any, *arguments: Any) -> Any:
    """A function that draws into a file."""

    def draw(path: Path) -> None:
        axes = plot(*arguments)
        with replacing(path) as draft:
            axes.figure.savefig(draft, format="png", dpi=DPI, bbox_inches="tight")
        axes.figure.clear()

    return draw
