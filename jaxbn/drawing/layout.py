"""Where the variables of a network are drawn: parents above children, few crossings, long arcs straight.

Layers by longest path, crossings reduced by barycentres, positions by least squares (Sugiyama's method in small).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, combinations, pairwise

import numpy as np
from scipy.optimize import isotonic_regression

from jaxbn.inputs.graph import Parents, children_of, topological_order
from jaxbn.inputs.later import nx

Node = str | tuple[str, str, int]  # a variable, or (parent, child, layer) where a long arc passes a layer
Arc = tuple[str, str]
Point = tuple[float, float]
SWEEPS = 8
GAP = 22.0  # between boxes of a layer
HEIGHT = 40.0  # of every box
RISE = 44.0  # between two layers
THREAD = 8.0  # width kept free for an arc that passes a layer
SPREAD = 1.8  # how wide rows of parts are, in sides of a square of their area
PORT = 14.0  # between the arcs that enter or leave a box


@dataclass(frozen=True)
class Box:
    """A variable's rectangle; x and y are its centre, y grows downwards."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """A drawing of a network; the origin is its upper left corner."""

    width: float
    height: float
    boxes: dict[str, Box]
    arcs: dict[Arc, tuple[Point, ...]]  # points from the parent's lower to the child's upper side, tangents vertical


def layered(parents: Parents, widths: Mapping[str, float]) -> Layout:
    """Lay a network out, parents above their children; parts without arcs between them in rows, tall ones first."""
    graph = nx.Graph((parent, child) for child, found in parents.items() for parent in found)
    graph.add_nodes_from(parents)
    parts = [
        _connected({name: parents[name] for name in parents if name in part}, widths)
        for part in nx.connected_components(graph)
    ]
    parts.sort(key=lambda part: (-part.height, min(map([*parents].index, part.boxes))))
    area = sum(part.width * part.height for part in parts)
    limit = max([480.0, SPREAD * math.sqrt(area), *(part.width for part in parts)])
    left, top, width, tall = 0.0, 0.0, 0.0, 0.0  # of the row
    boxes: dict[str, Box] = {}
    arcs: dict[Arc, tuple[Point, ...]] = {}
    for part in parts:
        if left and (left + part.width > limit or part.height < tall / 2):
            left, top, tall = 0.0, top + tall + (RISE if tall > HEIGHT else GAP / 2), 0.0
        boxes |= {name: replace(box, x=box.x + left, y=box.y + top) for name, box in part.boxes.items()}
        arcs |= {arc: tuple((x + left, y + top) for x, y in points) for arc, points in part.arcs.items()}
        width, tall = max(width, left + part.width), max(tall, part.height)
        left += part.width + GAP
    return Layout(width, top + tall, {name: boxes[name] for name in parents}, arcs)


def _connected(parents: Parents, widths: Mapping[str, float]) -> Layout:
    """The drawing of variables that hang together."""
    layer = _layers(parents)
    rows: list[list[Node]] = [[] for _ in range(max(layer.values()) + 1)]
    for name, level in layer.items():
        rows[level].append(name)
    routes: dict[Arc, list[Node]] = {}  # long arcs pass every layer between their ends
    for child, found in parents.items():
        for parent in found:
            between: list[Node] = [(parent, child, level) for level in range(layer[parent] + 1, layer[child])]
            routes[parent, child] = [parent, *between, child]
            for level, node in enumerate(between, layer[parent] + 1):
                rows[level].append(node)
    links = nx.DiGraph(link for route in routes.values() for link in pairwise(route))
    links.add_nodes_from(layer)
    rows = _untangled(rows, links)
    size = {node: float(widths[node]) if isinstance(node, str) else THREAD for row in rows for node in row}
    x = _straightened(rows, links, size)
    left = min(x[node] - size[node] / 2 for node in x)
    x = {node: x[node] - left for node in x}
    step = HEIGHT + RISE
    boxes = {name: Box(x[name], HEIGHT / 2 + i * step, size[name], HEIGHT) for name, i in layer.items()}
    width = max(x[node] + size[node] / 2 for node in x)
    return Layout(width, len(rows) * step - RISE, boxes, _arcs(routes, boxes, x, step))


def _layers(parents: Parents) -> dict[str, int]:
    """Layer of every variable: below all its parents, roots just above their first child."""
    children = children_of(parents)
    layer: dict[str, int] = {}
    for name in topological_order(parents):
        layer[name] = max((layer[parent] + 1 for parent in parents[name]), default=0)
    for name in layer:
        if children[name] and not parents[name]:
            layer[name] = min(layer[child] for child in children[name]) - 1
    return layer


def _untangled(rows: list[list[Node]], links: nx.DiGraph) -> list[list[Node]]:
    """The rows reordered by the mean position of their neighbours, down and up; the order with fewest crossings."""
    tried = [[*map(list, rows)]]
    for sweep in range(SWEEPS):
        near, other = (links.pred, -1) if sweep % 2 == 0 else (links.succ, 1)
        for i in range(1, len(rows)) if sweep % 2 == 0 else reversed(range(len(rows) - 1)):
            place = {node: k for k, node in enumerate(rows[i + other])}
            own = {node: k for k, node in enumerate(rows[i])}
            rows[i].sort(key=lambda node: _mean([place[n] for n in near[node]], own[node]))
        tried.append([*map(list, rows)])
    return min(tried, key=lambda each: _crossings(each, links))


def _crossings(rows: Sequence[Sequence[Node]], links: nx.DiGraph) -> int:
    place = {node: (i, k) for i, row in enumerate(rows) for k, node in enumerate(row)}
    by_row: dict[int, list[tuple[int, int]]] = {}
    for upper, lower in links.edges:
        by_row.setdefault(place[upper][0], []).append((place[upper][1], place[lower][1]))
    return sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for found in by_row.values() for a, b in combinations(found, 2))


def _straightened(rows: Sequence[Sequence[Node]], links: nx.DiGraph, size: Mapping[Node, float]) -> dict[Node, float]:
    """Position of every node: as near to its neighbours as the order and the widths of its row allow."""
    x: dict[Node, float] = {}
    for row in rows:
        x.update(zip(row, _spread([0.0] * len(row), row, size), strict=True))
    for sweep in range(4 * SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = [_mean([x[n] for n in nx.all_neighbors(links, node)], x[node]) for node in row]
            x.update(zip(row, _spread(wanted, row, size), strict=True))
    return x


def _spread(wanted: Sequence[float], row: Sequence[Node], size: Mapping[Node, float]) -> list[float]:
    """Positions nearest to the wanted ones, in the sum of squares, that keep the boxes of a row apart.

    Without the room the boxes need this is isotonic regression.
    """
    steps = [(size[left] + size[right]) / 2 + GAP for left, right in pairwise(row)]
    room = np.array([*accumulate(steps, initial=0.0)])
    return (isotonic_regression(np.array(wanted) - room).x + room).tolist()


def _arcs(
    routes: Mapping[Arc, Sequence[Node]], boxes: Mapping[str, Box], x: Mapping[Node, float], step: float
) -> dict[Arc, tuple[Point, ...]]:
    """Points of every arc; those that share a side of a box are set apart there, in the order they come from."""
    ports: dict[tuple[Arc, int], float] = {}
    for end, towards in ((0, 1), (1, -2)):  # where arcs leave, and where they enter
        sides: dict[str, list[Arc]] = {}
        for arc in routes:
            sides.setdefault(arc[end], []).append(arc)
        for name, own in sides.items():
            apart = min(PORT, boxes[name].width / (len(own) + 1))
            own.sort(key=lambda arc: x[routes[arc][towards]])
            ports |= {(arc, end): boxes[name].x + (k - (len(own) - 1) / 2) * apart for k, arc in enumerate(own)}
    points = {}
    for arc, route in routes.items():
        first, half = boxes[arc[0]].y, boxes[arc[0]].height / 2
        # straight past the boxes of a layer, bent between layers
        inner = [(x[n], first + k * step + side) for k, n in enumerate(route[1:-1], 1) for side in (-half, half)]
        points[arc] = ((ports[arc, 0], first + half), *inner, (ports[arc, 1], boxes[arc[1]].y - half))
    return points


def curve(points: Sequence[Point], head: float) -> list[Point]:
    """The points joined by cubic curves with vertical tangents, up to the arrow's head.

    The first point stands alone; each curve adds its two points of control and its end.
    """
    stops = [*points[:-1], (points[-1][0], points[-1][1] - head)]
    vertices = [stops[0]]
    for a, b in pairwise(stops):
        middle = (a[1] + b[1]) / 2
        vertices += [(a[0], middle), (b[0], middle), b]
    return vertices


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default
