"""Graphs: the three ways to write one, checked and turned into parents by name."""

from __future__ import annotations

import graphlib
import heapq
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from jaxbn.inputs.checks import ArgumentError, ArgumentTypeError, at_least, known_name
from jaxbn.inputs.later import nx

Name = TypeVar("Name", bound=Hashable)  # or a number
Parents = Mapping[str, Sequence[str]]  # the parents of every variable, by name
GraphLike: TypeAlias = "Mapping[str, Iterable[str]] | nx.DiGraph | Iterable[tuple[str, str]]"
"""The ways to write a graph: parents by child, a ``networkx.DiGraph``, or (parent, child) pairs."""

MAX_TABLE_CELLS = 10_000_000


def as_parents(graph: GraphLike, names: Iterable[str], argument: str = "graph") -> dict[str, tuple[str, ...]]:
    """Parents of every variable: keys in column order, parents in the order given; a repeated arc counts once.

    Variables that the graph does not mention have no parents. Messages call the graph by `argument`.
    """
    parents: dict[str, dict[str, None]] = {str(name): {} for name in names}
    arcs, mentioned = arcs_and_names(graph, argument)
    for name in dict.fromkeys(mentioned):
        known_name(argument, name, parents)
    for parent, child in arcs:
        if parent == child:
            raise ArgumentError(argument, f"has an arc from {child!r} to itself; remove it")
        parents[child][parent] = None
    result = {name: tuple(found) for name, found in parents.items()}
    topological_order(result, argument)
    return result


def topological_order(parents: Mapping[Name, Sequence[Name]], argument: str = "graph") -> tuple[Name, ...]:
    """The variables, parents before children; among those that could come next, in the order of the keys."""
    names, sorter = tuple(parents), graphlib.TopologicalSorter(parents)
    try:
        sorter.prepare()
    except graphlib.CycleError as error:  # which has the cycle, parent -> child -> ... -> parent
        cycle = " -> ".join(map(repr, error.args[1]))
        raise ArgumentError(argument, f"has a cycle: {cycle}; remove one of these arcs") from None
    position = {name: i for i, name in enumerate(names)}
    order: list[Name] = []
    ready: list[int] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heapq.heappush(ready, position[name])
        order.append(names[heapq.heappop(ready)])
        sorter.done(order[-1])
    return tuple(order)


def children_of(parents: Mapping[Name, Sequence[Name]]) -> dict[Name, tuple[Name, ...]]:
    """Children of every variable, in the order of the keys."""
    children: dict[Name, list[Name]] = {name: [] for name in parents}
    for child, found in parents.items():
        for parent in dict.fromkeys(found):
            children[parent].append(child)
    return {name: tuple(found) for name, found in children.items()}


def markov_blanket(parents: Parents, name: str) -> tuple[str, ...]:
    """Parents, children and the children's other parents of a variable, in the order of the keys."""
    children = children_of(parents)[name]
    blanket = {*parents[name], *children, *(spouse for child in children for spouse in parents[child])} - {name}
    return tuple(other for other in parents if other in blanket)


def to_networkx(parents: Parents) -> nx.DiGraph:
    """The graph as a ``networkx.DiGraph``: nodes in the order of the keys, arcs from parent to child."""
    graph = nx.DiGraph()
    graph.add_nodes_from(parents)
    graph.add_edges_from((parent, child) for child, found in parents.items() for parent in found)
    return graph


def check_max_cells(max_cells: int) -> int:
    """The limit of the cells of a table, if a network with such tables can be fitted."""
    if at_least("max_cells", max_cells, 1) > MAX_TABLE_CELLS:
        raise ArgumentError("max_cells", f"must be at most {MAX_TABLE_CELLS:,}, got {max_cells:,}", value=max_cells)
    return int(max_cells)


def check_table_sizes(parents: Parents, cardinalities: Mapping[str, int], limit: int = MAX_TABLE_CELLS) -> None:
    """Refuse a graph with a family whose conditional table would have more than ``limit`` cells."""
    for child, found in parents.items():
        cells = math.prod(cardinalities[name] for name in (child, *found))
        if cells > limit:
            given = f" given {', '.join(map(repr, found))}" if found else ""
            remedy = "give it fewer parents, or its variables fewer levels" if found else "merge its levels"
            size = f"would have {cells:,} cells, more than the limit of {limit:,}; {remedy}"
            raise ArgumentError("graph", size, subject=f"the table of {child!r}{given}")


def arcs_and_names(graph: Any, argument: str = "graph") -> tuple[list[tuple[str, str]], list[str]]:
    """(parent, child) pairs in the order given, and every name the graph mentions."""
    if isinstance(getattr(graph, "parents", None), Mapping):  # a network
        graph = graph.parents
    elif hasattr(graph, "edges") and hasattr(graph, "nodes"):
        if not graph.is_directed():
            raise ArgumentTypeError(argument, "is undirected; pass a networkx.DiGraph")
        graph = {child: list(graph.predecessors(child)) for child in graph.nodes}
    if isinstance(graph, Mapping):
        for child, found in graph.items():
            if isinstance(found, str) or not isinstance(found, Iterable):
                raise ArgumentTypeError(
                    argument, f"must give the parents of {child!r} as a list of names, got {found!r}; write [{found!r}]"
                )
        arcs = [(str(parent), str(child)) for child, found in graph.items() for parent in found]
        return arcs, [*map(str, graph), *(parent for parent, _ in arcs)]
    if isinstance(graph, str) or not isinstance(graph, Iterable):
        raise ArgumentTypeError(
            argument, f"must be {{child: [parents]}}, a networkx.DiGraph or (parent, child) pairs, got {graph!r}"
        )
    arcs = [as_arc(arc, argument) for arc in graph]
    return arcs, [name for arc in arcs for name in arc]


def as_arc(arc: Any, argument: str) -> tuple[str, str]:
    """A (parent, child) pair of names."""
    if isinstance(arc, str) or not isinstance(arc, Sequence) or len(arc) != 2:
        raise ArgumentTypeError(argument, f"must hold (parent, child) pairs, got {arc!r}; write [(parent, child)]")
    return str(arc[0]), str(arc[1])
