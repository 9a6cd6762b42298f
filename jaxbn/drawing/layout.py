"""Where the variables of a network are drawn: parents above children, few crossings, long arcs straight.

Layers by longest path, crossings reduced by barycentres, positions by least squares (Sugiyama's method in small).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from jaxbn.inputs.graph import Parents, children_of, topological_order

Node = str | tuple[str, str, int]  # a variable, or (parent, child, layer) where a long arc passes a layer
Point = tuple[float, float]
SWEEPS = 8
GAP = 22.0  # between boxes of a layer
THREAD = 8.0  # width kept free for an arc that passes a layer
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
    """A drawing of a network.

    Attributes:
        width: of the whole drawing; the origin is its upper left corner.
        height: of the whole drawing.
        boxes: the variables.
        arcs: points an arc passes, from the lower side of the parent to the upper side of the child, with vertical
            tangents in each.
    """

    width: float
    height: float
    boxes: dict[str, Box]
    arcs: dict[tuple[str, str], tuple[Point, ...]]


def layered(parents: Parents, widths: Mapping[str, float], *, height: float = 40.0, rise: float = 44.0) -> Layout:
    """Lay a network out, parents above their children; variables without neighbours stand in rows below.

    Args:
        parents: the structure.
        widths: width of each variable's box.
        height: of every box.
        rise: between two layers.

    Example:
        >>> plan = layered({"a": (), "b": ("a",)}, {"a": 50, "b": 70}, height=40.0, rise=40.0)
        >>> plan.width, plan.height, plan.boxes["b"].y, plan.arcs["a", "b"]
        (70.0, 120.0, 100.0, ((35.0, 40.0), (35.0, 80.0)))
    """
    layer = _layers(parents)
    rows, links = _rows(parents, layer)
    rows = _untangled(rows, links)
    size = {node: float(widths[node]) if isinstance(node, str) else THREAD for row in rows for node in row}
    x = _straightened(rows, links, size)
    left = min((x[node] - size[node] / 2 for node in x), default=0.0)
    right = max((x[node] + size[node] / 2 for node in x), default=0.0)
    step = height + rise
    boxes = {
        node: Box(x[node] - left, height / 2 + i * step, size[node], height)
        for i, row in enumerate(rows)
        for node in row
        if isinstance(node, str)
    }
    arcs = _arcs(parents, layer, boxes, {node: x[node] - left for node in x}, step)
    lone = [name for name in parents if name not in layer]
    width, bottom = right - left, len(rows) * step - rise if rows else -rise
    width, bottom = _place_lone(lone, widths, boxes, width, bottom, height, rise)
    return Layout(width, bottom, {name: boxes[name] for name in parents}, arcs)


def _layers(parents: Parents) -> dict[str, int]:
    """Layer of every variable that has a neighbour: below all its parents, roots just above their first child."""
    children = children_of(parents)
    layer: dict[str, int] = {}
    for name in topological_order(parents):
        if parents[name] or children[name]:
            layer[name] = max((layer[parent] + 1 for parent in parents[name]), default=0)
    for name in layer:
        if not parents[name]:
            layer[name] = min(layer[child] for child in children[name]) - 1
    return layer


def _rows(parents: Parents, layer: Mapping[str, int]) -> tuple[list[list[Node]], list[tuple[Node, Node]]]:
    """Nodes of each layer and the links between neighbouring layers, long arcs cut into pieces."""
    rows: list[list[Node]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for name, level in layer.items():
        rows[level].append(name)
    links: list[tuple[Node, Node]] = []
    for child, found in parents.items():
        for parent in found:
            stops = _stops(parent, child, layer)
            for node in stops[1:-1]:
                rows[layer[parent] + stops.index(node)].append(node)
            links += pairwise(stops)
    return rows, links


def _stops(parent: str, child: str, layer: Mapping[str, int]) -> list[Node]:
    return [parent, *((parent, child, level) for level in range(layer[parent] + 1, layer[child])), child]


def _untangled(rows: list[list[Node]], links: Sequence[tuple[Node, Node]]) -> list[list[Node]]:
    """The rows reordered by the mean position of their neighbours, down and up; the order with fewest crossings."""
    above, below = _neighbours(rows, links)
    best, fewest = [list(row) for row in rows], _crossings(rows, links)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        near = above if down else below
        for i in range(len(rows)) if down else reversed(range(len(rows))):
            other = i - 1 if down else i + 1
            if 0 <= other < len(rows):
                place = {node: k for k, node in enumerate(rows[other])}
                own = {node: k for k, node in enumerate(rows[i])}
                rows[i].sort(key=lambda node: _mean([place[n] for n in near[node]], own[node]))
        crossings = _crossings(rows, links)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _neighbours(
    rows: Sequence[Sequence[Node]], links: Sequence[tuple[Node, Node]]
) -> tuple[dict[Node, list[Node]], dict[Node, list[Node]]]:
    above: dict[Node, list[Node]] = {node: [] for row in rows for node in row}
    below: dict[Node, list[Node]] = {node: [] for row in rows for node in row}
    for upper, lower in links:
        above[lower].append(upper)
        below[upper].append(lower)
    return above, below


def _crossings(rows: Sequence[Sequence[Node]], links: Sequence[tuple[Node, Node]]) -> int:
    place = {node: (i, k) for i, row in enumerate(rows) for k, node in enumerate(row)}
    by_row: dict[int, list[tuple[int, int]]] = {}
    for upper, lower in links:
        by_row.setdefault(place[upper][0], []).append((place[upper][1], place[lower][1]))
    return sum(
        (a[0] - b[0]) * (a[1] - b[1]) < 0 for found in by_row.values() for k, a in enumerate(found) for b in found[:k]
    )


def _straightened(
    rows: Sequence[Sequence[Node]], links: Sequence[tuple[Node, Node]], size: Mapping[Node, float]
) -> dict[Node, float]:
    """Position of every node: as near to its neighbours as the order and the widths of its row allow."""
    above, below = _neighbours(rows, links)
    x: dict[Node, float] = {}
    for row in rows:
        x.update(zip(row, _spread([0.0] * len(row), row, size), strict=True))
    for sweep in range(4 * SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = [_mean([x[n] for n in (*above[node], *below[node])], x[node]) for node in row]
            x.update(zip(row, _spread(wanted, row, size), strict=True))
    return x


def _spread(wanted: Sequence[float], row: Sequence[Node], size: Mapping[Node, float]) -> list[float]:
    """Positions nearest to the wanted ones, in the sum of squares, that keep the boxes of a row apart.

    Without the room the boxes need this is isotonic regression, solved by pooling neighbours.
    """
    room = [0.0]
    for left, right in pairwise(row):
        room.append(room[-1] + (size[left] + size[right]) / 2 + GAP)
    pools: list[tuple[float, int]] = []  # mean, members
    for target, offset in zip(wanted, room, strict=False):
        mean, members = target - offset, 1
        while pools and pools[-1][0] > mean:
            other, count = pools.pop()
            mean, members = (mean * members + other * count) / (members + count), members + count
        pools.append((mean, members))
    return [mean + room[i] for i, mean in enumerate(mean for mean, members in pools for _ in range(members))]


def _arcs(
    parents: Parents, layer: Mapping[str, int], boxes: Mapping[str, Box], x: Mapping[Node, float], step: float
) -> dict[tuple[str, str], tuple[Point, ...]]:
    """Points of every arc; those that share a side of a box are set apart there, in the order they come from."""
    routes = {(p, c): _stops(p, c, layer) for c, found in parents.items() for p in found}
    leaving: dict[str, list[tuple[str, str]]] = {name: [] for name in parents}
    entering: dict[str, list[tuple[str, str]]] = {name: [] for name in parents}
    for parent, child in routes:
        leaving[parent].append((parent, child))
        entering[child].append((parent, child))
    starts = {arc: shift for name in leaving for arc, shift in _ports(leaving[name], routes, 1, x, boxes, name)}
    ends = {arc: shift for name in entering for arc, shift in _ports(entering[name], routes, -2, x, boxes, name)}
    points = {}
    for arc, route in routes.items():
        first, last = boxes[arc[0]], boxes[arc[1]]
        sides = (-first.height / 2, first.height / 2)  # straight past the boxes of a layer, bent between layers
        inner = [(x[node], first.y + (k + 1) * step + side) for k, node in enumerate(route[1:-1]) for side in sides]
        start = (first.x + starts[arc], first.y + first.height / 2)
        points[arc] = (start, *inner, (last.x + ends[arc], last.y - last.height / 2))
    return points


def _ports(
    arcs: list[tuple[str, str]],
    routes: Mapping[tuple[str, str], Sequence[Node]],
    towards: int,
    x: Mapping[Node, float],
    boxes: Mapping[str, Box],
    name: str,
) -> list[tuple[tuple[str, str], float]]:
    if not arcs:
        return []
    apart = min(PORT, boxes[name].width / (len(arcs) + 1))
    ordered = sorted(arcs, key=lambda arc: x[routes[arc][towards]])
    return [(arc, (k - (len(arcs) - 1) / 2) * apart) for k, arc in enumerate(ordered)]


def _place_lone(
    lone: Sequence[str],
    widths: Mapping[str, float],
    boxes: dict[str, Box],
    width: float,
    bottom: float,
    height: float,
    rise: float,
) -> tuple[float, float]:
    """Set variables without neighbours in rows below the others; the width and height needed then."""
    limit = max(width, 480.0)
    x, y = 0.0, bottom + rise
    for name in lone:
        if x and x + widths[name] > limit:
            x, y = 0.0, y + height + GAP / 2
        boxes[name] = Box(x + widths[name] / 2, y + height / 2, float(widths[name]), height)
        x, width = x + widths[name] + GAP, max(width, x + widths[name])
    return width, (y + height if lone else bottom)


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default
