"""Pictures as SVG text. They take the colour of the text around them, so they fit light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.shapes.inside import about_even
from jaxbn.cuts.words import cut_texts, short_numbers
from jaxbn.drawing.layout import Box, Layout, Point, curve, layered
from jaxbn.inputs import checks
from jaxbn.inputs.units import NUMBER, Unit
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.words import count_states
from jaxbn.structure.equivalence import Arc

Directions = Literal["class", "all"]
Floats = NDArray[np.float64]
MOST_BARS = 40  # of a histogram, and pieces of a density
BLUE, ORANGE = "#3d85c6", "#dd7a2f"  # readable on white and on near black
CHARACTER = 7.4  # mean width of a character of the 13-pixel font
LONGEST = 22  # characters of a name that are shown
FONT = 'font-family="system-ui, sans-serif" fill="currentColor"'
LABEL, LINE = 30.0, 12.0  # width of the label of an arc, and height of its line
NOTE = 'font-size="11" fill-opacity="0.7"'


def network_svg(
    net: BayesNet, strengths: Mapping[tuple[str, str], float] | None = None, directions: Directions = "class"
) -> str:
    """The network: a box for each variable with its number of bins, discrete ones shaded, and its arcs.

    Strengths are written at their arcs, and are their opacity. Arcs that are no arrows have a hidden head.
    """
    plan = network_layout(net)
    arrows = arrows_of(net, directions)
    shown = {arc: strength_of(strengths, arc, arc in arrows) for arc in plan.arcs}
    heights = _label_heights({arc: points[-1] for arc, points in plan.arcs.items() if shown[arc] is not None})
    parts = [
        _arc(points, shown[arc], arc, heights.get(arc, 0.0), arc in arrows, net.arc_gains.get(arc))
        for arc, points in plan.arcs.items()
    ]
    parts += [_box(net, name, box) for name, box in plan.boxes.items()]
    return _svg(plan.width, plan.height, parts, "network of the variables", "network")


def arrows_of(net: BayesNet, directions: Directions) -> Collection[Arc]:
    """The arcs that are drawn as arrows."""
    return net.compelled if checks.one_of("directions", directions, ("class", "all")) == "class" else net.arcs


def strength_of(strengths: Mapping[Arc, float] | None, arc: Arc, arrow: bool) -> float | None:
    """What is written at an arc: the share of networks that have it, at a line in either direction."""
    if not strengths or (arc not in strengths and (arrow or arc[::-1] not in strengths)):
        return None
    return strengths.get(arc, 0.0) + (0.0 if arrow else strengths.get(arc[::-1], 0.0))


def arc_width(gain: float | None) -> float:
    """How wide an arc is drawn, by the nats it is worth: ten times as many make it 0.7 wider, from 0.7 to 3.5.

    Example:
        >>> [round(arc_width(gain), 1) for gain in (None, -2.0, 10.0, 1000.0)]
        [1.3, 0.7, 1.4, 2.8]
    """
    return 1.3 if gain is None else 0.7 * (1 + min(math.log10(max(gain, 1.0)), 4.0))


def network_layout(net: BayesNet) -> Layout:
    """Boxes wide enough for their names."""
    widths = {
        name: 18 + max(CHARACTER * len(short(name)), 6.2 * len(count_states(net, name)), 44) for name in net.names
    }
    return layered(net.parents, widths)


def variable_svg(
    edges: Floats,
    density: tuple[Floats, Floats] | None,
    values: Floats | None,
    name: str,
    unit: Unit = NUMBER,
    step: float = 0.0,
) -> str:
    """The cuts of a variable over the histogram of its values and the density of its bins.

    The edges [bins + 1] include the outer ones; the density is the ends of pieces [pieces + 1] and what is inside each
    [pieces]; `step` is that of the grid that values lie on.
    """
    width, height, left, right, foot = 340.0, 170.0, 8.0, 8.0, 24.0
    low, high = float(edges[0]), float(edges[-1])
    span = high / 2 - low / 2 or 1.0  # halves, as the difference of large numbers may overflow
    bars, borders = histogram(values, low, high)
    if density is not None:
        density = averaged(density, edges[1:-1])
    tall = top_of_scale(None if density is None else density[1], bars)

    def across(value: float) -> float:
        return left + (value / 2 - low / 2) / span * (width - left - right)

    def up(value: float) -> float:
        return (height - foot) - min(value / tall, 1.0) * (height - foot - 8)

    parts = [
        f'<rect x="{across(a):.1f}" y="{up(bar):.1f}" width="{max(across(b) - across(a) - 0.6, 0.4):.1f}" '
        f'height="{height - foot - up(bar):.1f}" fill="currentColor" fill-opacity="0.22"/>'
        for bar, a, b in zip(bars, borders[:-1], borders[1:], strict=True)
        if bar > 0
    ]
    parts += [
        f'<line x1="{across(cut):.1f}" x2="{across(cut):.1f}" y1="6" y2="{height - foot}" stroke="{ORANGE}" '
        f'stroke-dasharray="4 3"><title>{text}</title></line>'
        for cut, text in zip(edges[1:-1], cut_texts(edges[1:-1].tolist(), (low, high), unit, step), strict=True)
    ]
    if density is not None:
        ends, heights = (np.repeat(part, 2) for part in density)
        steps = [f"{across(e):.1f},{up(d):.1f}" for e, d in zip(ends[1:-1], heights, strict=True)]
        line = " ".join([f"{across(low):.1f},{up(0)}", *steps, f"{across(high):.1f},{up(0)}"])
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{BLUE}" stroke-width="2" stroke-linejoin="round"/>'
        )
    parts.append(f'<path d="M{left} {height - foot}H{width - right}" stroke="currentColor" stroke-opacity="0.5"/>')
    marks = ticks(low, high)
    labels = [f"{mark:g}" for mark in marks] if unit.kind == "number" else short_numbers(marks, unit=unit)
    parts += [_tick(across(mark), height - foot, label, width) for mark, label in zip(marks, labels, strict=True)]
    return _svg(width, height, parts, f"values, density and cuts of {name}", "variable")


def scores_svg(labels: Sequence[str], means: Sequence[float], errors: Sequence[float]) -> str:
    """Scores as points with their standard errors, one line each; further right is better."""
    row, left, width = 28.0, 8 + 6.6 * max(map(len, labels)), 400.0
    height = row * len(labels) + 30
    low = min(m - 2 * e for m, e in zip(means, errors, strict=True))
    high = max(m + 2 * e for m, e in zip(means, errors, strict=True))
    span = high - low or 1.0

    def across(value: float) -> float:
        return left + 14 + (value - low) / span * (width - left - 34)

    parts = []
    for i, (label, mean, error) in enumerate(zip(labels, means, errors, strict=True)):
        y = row * i + row / 2 + 2
        parts.append(
            f'<text x="{left}" y="{y + 4:.1f}" text-anchor="end" font-size="12">{escape(label)}</text>'
            f'<path d="M{across(mean - error):.1f} {y}H{across(mean + error):.1f}" stroke="{BLUE}" stroke-width="3" '
            f'stroke-opacity="0.5"/><circle cx="{across(mean):.1f}" cy="{y}" r="5" fill="{BLUE}">'
            f"<title>{mean:.3f}</title></circle>"
        )
    foot = height - 24
    parts.append(f'<path d="M{left + 8} {foot}H{width - 8}" stroke="currentColor" stroke-opacity="0.5"/>')
    parts += [_tick(across(tick), foot, f"{tick:g}", width) for tick in ticks(low, high)]
    return _svg(width, height, parts, "held-out log-likelihood of each method", "scores")


def histogram(values: Floats | None, low: float, high: float) -> tuple[Floats, Floats]:
    """Density of the values in bars of equal width, and the bars' borders."""
    if values is None or len(values) == 0 or low == high or math.isinf(high - low):
        return np.empty(0), np.array([low])
    n_bars = int(np.clip(2 * math.sqrt(len(values)), 10, MOST_BARS))
    counts, borders = np.histogram(values, bins=n_bars, range=(low, high))
    return counts / (len(values) * np.diff(borders)), borders


def averaged(curve: tuple[Floats, Floats], cuts: Floats) -> tuple[Floats, Floats]:
    """A density of many pieces, averaged over some of equal width between the cuts: digits would be spikes."""
    edges, density = curve
    if len(density) <= MOST_BARS + len(cuts):
        return curve
    bins = np.array([edges[0], *cuts, edges[-1]])
    ends = np.union1d(about_even(bins, MOST_BARS), bins)
    below = np.append(0.0, np.cumsum(density * np.diff(edges)))
    return ends, np.diff(np.interp(ends, edges, below)) / np.diff(ends)


def top_of_scale(density: Floats | None, bars: Floats) -> float:
    """Highest value shown: a narrow bin far above the histogram is cut off, so that it does not flatten the rest."""
    highest = [float(part.max()) for part in (density, bars) if part is not None and len(part)]
    limit = 2.0 * float(bars.max()) if len(bars) else math.inf
    return min(max(highest, default=1.0), limit) or 1.0


def ticks(low: float, high: float) -> list[float]:
    """Round numbers between two ends."""
    if not high > low:
        return [low]
    rough = high / 6 - low / 6
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * m for m in (1, 2, 5, 10) if unit * m >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def short(name: str) -> str:
    """A name cut to what fits a box."""
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def _box(net: BayesNet, name: str, box: Box) -> str:
    shade = 0.16 if name in net.levels else 0.0
    return (
        f'<g class="node" data-name="{escape(name)}"><title>{escape(name)}</title>'
        f'<rect x="{box.x - box.width / 2:.1f}" y="{box.y - box.height / 2:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="8" fill="currentColor" fill-opacity="{shade}" stroke="currentColor"/>'
        f'<text x="{box.x:.1f}" y="{box.y - 3:.1f}" text-anchor="middle" font-size="13">{escape(short(name))}</text>'
        f'<text x="{box.x:.1f}" y="{box.y + 13:.1f}" text-anchor="middle" {NOTE}>{count_states(net, name)}</text></g>'
    )


def _label_heights(ends: Mapping[tuple[str, str], Point]) -> dict[tuple[str, str], float]:
    """Where the labels of arcs stand, each above those it would overprint; an arc ends where its arrow points to.

    Example:
        >>> _label_heights({("a", "c"): (50.0, 90.0), ("b", "c"): (60.0, 90.0)})
        {('a', 'c'): 78.0, ('b', 'c'): 66.0}
    """
    taken: list[Point] = []
    for x, y in ends.values():
        height = y - LINE
        while any(abs(x - a) < LABEL and abs(height - b) < LINE for a, b in taken):
            height -= LINE
        taken.append((x, height))
    return {arc: height for arc, (_, height) in zip(ends, taken, strict=True)}


def _arc(
    points: Sequence[Point], strength: float | None, arc: Arc, height: float, arrow: bool, gain: float | None
) -> str:
    x, y = points[-1]
    start, *others = [f"{a:.1f} {b:.1f}" for a, b in curve(points, 7 * arrow)]
    path = f"M{start}" + "".join(f"C{' '.join(others[i : i + 3])}" for i in range(0, len(others), 3))
    hidden = "" if arrow else ' display="none"'
    opacity = 0.65 if strength is None else 0.2 + 0.8 * strength
    worth = "" if gain is None else f", worth {gain:,.0f} nats of the evidence"
    label = ""
    if strength is not None:
        label = f'<text x="{x:.1f}" y="{height:.1f}" text-anchor="middle" {NOTE}>{strength:.0%}</text>'
    return (
        f'<g class="arc{" open" * (not arrow)}" data-parent="{escape(arc[0])}" data-child="{escape(arc[1])}" '
        f'opacity="{opacity:.2f}">'
        f"<title>{escape(arc[0])} {'→' if arrow else '–'} {escape(arc[1])}{worth}</title>"
        f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="{arc_width(gain):.1f}"/>'
        f'<path class="head" d="M{x - 4:.1f} {y - 8:.1f}H{x + 4:.1f}L{x:.1f} {y:.1f}Z" fill="currentColor"'
        f"{hidden}/>{label}</g>"
    )


def _tick(x: float, y: float, text: str, width: float) -> str:
    half = 3.1 * len(text)
    centre = min(max(x, half), width - half)
    return (
        f'<path d="M{x:.1f} {y}v4" stroke="currentColor" stroke-opacity="0.5"/>'
        f'<text x="{centre:.1f}" y="{y + 16}" text-anchor="middle" {NOTE}>{text}</text>'
    )


def _svg(width: float, height: float, parts: Sequence[str], label: str, kind: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind}" viewBox="-1 -1 {width + 2:.0f} {height + 2:.0f}" '
        f'width="{width + 2:.0f}" height="{height + 2:.0f}" style="--natural:{width + 2:.0f}px" '
        f'role="img" aria-label="{escape(label)}" {FONT}>'
        f"{''.join(parts)}</svg>"
    )
