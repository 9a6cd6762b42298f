"""Pictures with matplotlib, in the manner of the paper: cuts over histograms, density regions, the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxbn.cuts.shapes.inside import InsideBins
from jaxbn.drawing import svg as figures
from jaxbn.drawing.layout import Box, Layout, curve, layered
from jaxbn.drawing.svg import BLUE, ORANGE, short
from jaxbn.inputs import checks
from jaxbn.inputs.columns import as_floats
from jaxbn.inputs.graph import to_networkx
from jaxbn.inputs.later import nx, patches, plt
from jaxbn.inputs.table import as_frame
from jaxbn.model.words import count_states

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jaxbn.cuts.binning import Binning
    from jaxbn.evaluation.bootstrap_results import CutBootstrap
    from jaxbn.model.bayesnet import BayesNet
    from jaxbn.structure.equivalence import Comparison

GREY = "0.78"


def plot_binning(binning: Binning, values: ArrayLike, ax: Axes | None = None) -> Axes:
    """The cuts of a variable over the histogram of its values, with the density of each bin; see ``Binning.plot``."""
    numbers = checks.numbers("values", values)
    ends = [*binning.cuts[:1], *binning.cuts[-1:], numbers.min(), numbers.max()]
    edges = np.array([min(ends), *binning.cuts, max(ends)])
    shares = np.bincount(binning(numbers), minlength=binning.n_bins) / len(numbers)
    pieces, of, inside = InsideBins(edges, binning.shape).pieces()
    widths = np.diff(pieces)
    density = np.divide(shares[of] * inside, widths, out=np.zeros(len(widths)), where=widths > 0)
    return draw_variable(new_axes(ax, (6, 3.4)), binning.cuts, (pieces, density), numbers)


def plot_resampled_cuts(found: CutBootstrap, name: str, ax: Axes | None = None) -> Axes:
    """The cuts of all resamples as a rug under the density, with the intervals; see ``CutBootstrap.plot``."""
    ax = plot_binning(found.original[name], found.values[name], ax)
    ax.set_xlabel(name)
    top = ax.get_ylim()[1]
    for lower, upper in found.frame.loc[found.frame["variable"] == name, ["lower", "upper"]].to_numpy():
        ax.axvspan(lower, upper, color=ORANGE, alpha=0.15, linewidth=0)
    cuts = np.concatenate([binning.cuts for binning in found.binnings[name]])
    shade = float(np.clip(2 / np.sqrt(max(len(cuts), 1)), 0.05, 1))
    ax.vlines(cuts, -0.12 * top, -0.02 * top, color="black", linewidth=0.8, alpha=shade, label="resampled cuts")
    ax.set_ylim(-0.14 * top, top)
    ax.legend(frameon=False, fontsize=8)
    return ax


def stacked_axes(count: int) -> NDArray[Any]:
    """New axes, one below the other [count]."""
    return np.atleast_1d(plt.subplots(count, figsize=(6, 2.6 * count), layout="constrained")[1])


def plot_marginal(net: BayesNet, data: Any, name: str, ax: Axes | None = None) -> Axes:
    """The marginal density of a continuous variable over the histogram of the data, with the cuts.

    Args:
        net: the network.
        data: rows with that column.
        name: a continuous variable.
        ax: axes to draw on; new ones by default.

    Example:
        >>> data = {"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0]}
        >>> net = jaxbn.fit(data, {"size": ["kind"]}, {"size": [4.5]})
        >>> jaxbn.plot_marginal(net, data, "size")  # doctest: +SKIP
    """
    cuts, values = net.bin_edges(name)[1:-1], _column(net, data, name)
    ax = draw_variable(new_axes(ax, (6, 3.4)), cuts, net.density(name), values)
    ax.set_xlabel(name)
    return ax


def plot_pair(net: BayesNet, data: Any, x: str, y: str, ax: Axes | None = None) -> Axes:
    """The joint density of two continuous variables, one region for each pair of bins, with the data on top.

    Args:
        net: the network.
        data: rows with both columns.
        x: a continuous variable, drawn to the right.
        y: another one, drawn upwards.
        ax: axes to draw on; new ones by default.

    Example:
        >>> cars = jaxbn.datasets.load("auto_mpg")  # doctest: +SKIP
        >>> jaxbn.plot_pair(jaxbn.learn(cars.frame), cars.frame, "weight", "mpg")  # doctest: +SKIP
    """
    if x == y:
        raise ValueError(f"x and y are both {x!r}; name two variables")
    across, up = (net.bin_edges(name) for name in (x, y))
    columns = [_column(net, data, name) for name in (x, y)]
    shares = net.query([x, y]).to_numpy().reshape(len(across) - 1, len(up) - 1)
    areas = np.outer(np.diff(across), np.diff(up))
    density = np.divide(shares, areas, out=np.zeros_like(shares), where=areas > 0)
    ax = new_axes(ax, (6, 4.6))
    mesh = ax.pcolormesh(across, up, density.T, cmap="Blues", vmin=0, edgecolors="white", linewidth=0.8)
    ax.figure.colorbar(mesh, ax=ax, label="density")
    ax.plot(*columns, "o", color="black", markersize=2.5, alpha=0.55, markeredgewidth=0)
    ax.set(xlabel=x, ylabel=y)
    return ax


def plot_network(
    net: BayesNet,
    ax: Axes | None = None,
    *,
    strengths: Mapping[tuple[str, str], float] | None = None,
    directions: figures.Directions = "class",
) -> Axes:
    """The network drawn, with the number of bins at each variable; see ``BayesNet.plot``."""
    plan, arrows = figures.network_layout(net), figures.arrows_of(net, directions)
    ax = new_axes(ax, (max(plan.width / 90, 2.5), max(plan.height / 90, 1.2)))
    for arc, points in plan.arcs.items():
        strength = figures.strength_of(strengths, arc, arc in arrows)
        shade, width = 0.65 if strength is None else 0.2 + 0.8 * strength, figures.arc_width(net.arc_gains.get(arc))
        _draw_arc(ax, points, 7, arc in arrows, color="black", alpha=shade, linewidth=width)
        if strength is not None:
            x, y = points[-1]
            ax.text(x, y - 12, f"{strength:.0%}", ha="center", va="bottom", fontsize=7)
    for name, box in plan.boxes.items():
        _draw_box(ax, box, "0.85" if name in net.levels else "white")
        ax.text(box.x, box.y - 1, short(name), ha="center", va="bottom", fontsize=9, parse_math=False)
        ax.text(box.x, box.y + 3, count_states(net, name), ha="center", va="top", fontsize=7.5, color="0.35")
    return _framed(ax, plan)


def plot_influence(net: BayesNet, target: str, given: Mapping[str, Any] | None = None, ax: Axes | None = None) -> Axes:
    """A tornado: how far each known value moves the most probable state; see ``BayesNet.plot_influence``."""
    frame = net.influence(target, given).iloc[::-1]
    ax = new_axes(ax, (6, 1.2 + 0.35 * len(frame)))
    places = np.arange(len(frame))
    if given:
        ax.barh(places + 0.2, frame["left_out"], 0.4, color="0.3", label="known last")
        ax.barh(places - 0.2, frame["alone"], 0.4, color="0.75", label="known alone")
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.set_xlabel(f"change of P({target} = {frame.attrs['state']})", parse_math=False)
        ax.legend()
    else:
        ax.barh(places, frame["mutual_information"], 0.6, color="0.3")
        ax.set_xlabel(f"mutual information with {target} in nats", parse_math=False)
    ax.set_yticks(places, [short(name) for name in frame.index], parse_math=False)
    return ax


def plot_comparison(found: Comparison, ax: Axes | None = None) -> Axes:
    """Two graphs drawn as one; see ``Comparison.plot``."""
    from matplotlib.lines import Line2D

    parents: dict[str, tuple[str, ...]] = dict.fromkeys(found.nodes, ())
    for parent, child in (*found.same, *found.removed, *found.turned):
        parents[child] += (parent,)
    for parent, child in found.added:  # an arrow that would close a cycle of the drawing runs upwards
        below, above = (parent, child) if nx.has_path(to_networkx(parents), child, parent) else (child, parent)
        parents[below] += (above,)
    plan = layered(parents, {name: 18 + max(figures.CHARACTER * len(short(name)), 44) for name in found.nodes})
    ax = new_axes(ax, (max(plan.width / 90, 3.5), max(plan.height / 90, 1.6)))
    kinds = {"in both": found.same, "added": found.added, "removed": found.removed, "turned": found.turned}
    styles: dict[str, Any] = {"in both": {"color": "0.55"}, "added": {"color": BLUE}, "turned": {"color": "#7b3fa0"}}
    styles["removed"] = {"color": ORANGE, "linestyle": "--"}
    for arc, points in plan.arcs.items():
        kind = next(kind for kind, arcs in kinds.items() if arc in arcs or arc[::-1] in arcs)
        up = (kind == "turned") != (arc not in kinds[kind])
        _draw_arc(ax, points, 0, True, up, **styles[kind], linewidth=1.6)
    for name, box in plan.boxes.items():
        _draw_box(ax, box, "white")
        ax.text(box.x, box.y, short(name), ha="center", va="center", fontsize=9, parse_math=False)
    shown = {kind: Line2D([], [], **styles[kind]) for kind, arcs in kinds.items() if arcs}
    if shown:
        ax.legend(shown.values(), shown.keys(), frameon=False, fontsize=8, loc="upper right")
    return _framed(ax, plan, 70 * bool(shown))


def _draw_arc(ax: Axes, points: Any, gap: float, headed: bool, up: bool = False, **style: Any) -> None:
    """An arc and its head, before which the line ends; `up` if it points to where it begins."""
    from matplotlib.path import Path

    color, alpha = style.pop("color"), style.get("alpha")
    vertices = curve(points, gap * headed)
    path = Path(vertices, [Path.MOVETO, *[Path.CURVE4] * (len(vertices) - 1)])
    ax.add_patch(patches.PathPatch(path, fill=False, edgecolor=color, **style))
    if headed:
        (x, y), side = points[0 if up else -1], 8 if up else -8
        tip = [(x - 4, y + side), (x + 4, y + side), (x, y)]
        ax.add_patch(patches.Polygon(tip, closed=True, color=color, alpha=alpha, linewidth=0))


def _draw_box(ax: Axes, box: Box, face: str) -> None:
    corner, style = (box.x - box.width / 2, box.y - box.height / 2), "round,pad=0,rounding_size=8"
    ax.add_patch(
        patches.FancyBboxPatch(corner, box.width, box.height, boxstyle=style, facecolor=face, edgecolor="black")
    )


def _framed(ax: Axes, plan: Layout, more: float = 0) -> Axes:
    """The axes around a drawing, y downwards, with more room to the right for a legend."""
    ax.set(xlim=(-3, plan.width + 3 + more), ylim=(plan.height + 3, -3), aspect="equal")
    ax.axis("off")
    return ax


def draw_variable(
    ax: Axes,
    cuts: NDArray[np.float64],
    curve: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
    values: NDArray[np.float64],
    label: str = "density",
) -> Axes:
    """Cuts and density of a variable over the histogram of its values."""
    edges, density = (values, None) if curve is None else figures.averaged(curve, cuts)
    low, high = float(min(edges.min(), values.min())), float(max(edges.max(), values.max()))
    bars, borders = figures.histogram(values, low, high)
    ax.bar(borders[:-1], bars, np.diff(borders), align="edge", color=GREY, label="data")
    if density is not None:
        ax.stairs(density, edges, color=BLUE, linewidth=1.8, label=label)
    for i, cut in enumerate(cuts):
        ax.axvline(cut, color=ORANGE, linewidth=1, linestyle="--", label="cut" if i == 0 else None)
    ax.set(ylim=(0, 1.05 * figures.top_of_scale(density, bars)), ylabel="density")
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _column(net: BayesNet, data: Any, name: str) -> NDArray[np.float64]:
    frame = as_frame(data)
    if name not in frame.columns:
        raise ValueError(f"the data has no column {name!r}; {checks.suggest(name, frame)}")
    values = as_floats(name, frame[name], net.binnings[name].unit)
    return checks.numbers(f"column {name!r}", values[~np.isnan(values)])


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes, or new ones of a size in inches if there are none."""
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax
