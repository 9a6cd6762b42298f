"""Compelled arcs by the algorithm of Chickering, "A transformational characterization of equivalent structures"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def label_arcs(parents: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], bool]:
    """Every arc (parent, child), and whether it is compelled."""
    order = _topological(parents)
    place = {name: i for i, name in enumerate(order)}
    arcs = [(x, y) for y in order for x in sorted(parents[y], key=place.__getitem__, reverse=True)]
    label: dict[tuple[str, str], bool | None] = dict.fromkeys(arcs)
    while None in label.values():
        x, y = next(arc for arc in arcs if label[arc] is None)
        done = False
        for w in parents[x]:
            if label[w, x] is not True:
                continue
            if w not in parents[y]:
                for z in parents[y]:
                    label[z, y] = True
                done = True
                break
            label[w, y] = True
        if done:
            continue
        fresh = any(z != x and z not in parents[x] for z in parents[y])
        for z in parents[y]:
            if label[z, y] is None:
                label[z, y] = fresh
    return {arc: bool(found) for arc, found in label.items()}


def _topological(parents: Mapping[str, Sequence[str]]) -> list[str]:
    order: list[str] = []
    while len(order) < len(parents):
        order += [name for name in parents if name not in order and set(parents[name]) <= set(order)][:1]
    return order
