"""What rows can tell of a graph: its links, and the directions that all equivalent graphs share."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations, permutations
from typing import TYPE_CHECKING, NamedTuple

from jaxbn.inputs.graph import Parents, children_of
from jaxbn.inputs.later import nx

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Arc = tuple[str, str]
Link = frozenset[str]


class Cpdag(NamedTuple):
    """The completed partially directed graph of an equivalence class, as ``BayesNet.cpdag`` gives it.

    Attributes:
        nodes: all variables, in column order.
        directed: the compelled arcs, (parent, child): all equivalent graphs have them.
        undirected: the other links, as sets of two names: equivalent graphs have them in either direction.

    Example:
        >>> sorted(class_of({"a": (), "b": (), "c": ("a", "b")}).directed)
        [('a', 'c'), ('b', 'c')]
    """

    nodes: tuple[str, ...]
    directed: frozenset[Arc]
    undirected: frozenset[Link]

    @property
    def links(self) -> frozenset[Link]:
        """All links, whatever their direction."""
        return self.undirected | {frozenset(arc) for arc in self.directed}

    def to_networkx(self) -> nx.DiGraph:
        """A ``networkx.DiGraph`` in which undirected links go both ways.

        Example:
            >>> sorted(class_of({"a": (), "b": ("a",)}).to_networkx().edges)
            [('a', 'b'), ('b', 'a')]
        """
        graph = nx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.directed)
        graph.add_edges_from(arc for link in self.undirected for arc in permutations(link))
        return graph


class Comparison(NamedTuple):
    """What it takes to turn one graph into another, as ``BayesNet.compare`` gives it.

    Attributes:
        added: arcs of the other between variables that are not linked here.
        removed: arcs of this one between variables that are not linked there.
        turned: arcs of this one that the other has the other way round.
        distance: the structural Hamming distance, the number of all of these.
        class_distance: the same of the equivalence classes, which is what rows can tell: links that are directed in one
            way here and in another, or in none, there count as turned.
        same: arcs that both have.
        nodes: all variables.

    Example:
        >>> found = compare_graphs({"a": (), "b": ("a",)}, {"a": ("b",), "b": ()})
        >>> found.turned, found.distance, found.class_distance
        ((('a', 'b'),), 1, 0)
        >>> print(found)
        1 arc differs (0 of the equivalence classes): turned a -> b
    """

    added: tuple[Arc, ...]
    removed: tuple[Arc, ...]
    turned: tuple[Arc, ...]
    distance: int
    class_distance: int
    same: tuple[Arc, ...] = ()
    nodes: tuple[str, ...] = ()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw both graphs as one: what they share, what the other adds, lacks and turns round.

        Example:
            >>> net.compare(other).plot().figure.savefig("both.svg")  # doctest: +SKIP
        """
        from jaxbn.drawing.plots import plot_comparison

        return plot_comparison(self, ax)

    def __str__(self) -> str:
        head = f"{self.distance} arc{'s' * (self.distance != 1)} differ{'s' * (self.distance == 1)}"
        kinds = {"added": self.added, "removed": self.removed, "turned": self.turned}
        words = [f"{kind} {', '.join(f'{p} -> {c}' for p, c in arcs)}" for kind, arcs in kinds.items() if arcs]
        return f"{head} ({self.class_distance} of the equivalence classes)" + (f": {'; '.join(words)}" if words else "")


class Distance(NamedTuple):
    """How far a graph is from the true one, both as classes."""

    found: int  # links of the true graph that are there
    missing: int
    false: int
    turned: int  # found links that are directed in another way, or in one of the two only
    distance: int  # missing, false and turned ones


def class_of(parents: Parents) -> Cpdag:
    """The class of an acyclic graph: arcs into a common child of two without a link, and what follows (Meek 1995)."""
    linked = {name: {*parents[name], *found} for name, found in children_of(parents).items()}
    directed = {
        (parent, child)
        for child, of_child in parents.items()
        for pair in combinations(of_child, 2)
        if pair[1] not in linked[pair[0]]
        for parent in pair
    }
    left = {(p, c) for c, of_child in parents.items() for p in of_child} - directed
    while follows := {arc for arc in left if _follows(*arc, directed, linked)}:
        directed |= follows
        left -= follows
    return Cpdag(tuple(parents), frozenset(directed), frozenset(frozenset(arc) for arc in left))


def _follows(tail: str, head: str, directed: set[Arc], linked: Mapping[str, set[str]]) -> bool:
    """Whether a link of the graph must point from tail to head because of those that are directed.

    The rules ask for a direction that would otherwise close a cycle or make a new common child; links of the graph
    itself are offered in their own direction only, which is the one that a rule can give.
    """
    into_tail = [other for other in linked[tail] if (other, tail) in directed]
    # rule 1: turned round, tail would be a new common child of two that are not linked
    if any(other not in linked[head] for other in into_tail):
        return True
    # rule 2: turned round, it would close a cycle
    if any((tail, other) in directed and (other, head) in directed for other in linked[tail]):
        return True
    # rule 3: turned round, two others that are not linked would both have to point at tail, or a cycle would close
    between = [o for o in linked[tail] & linked[head] if (o, head) in directed and (o, tail) not in directed]
    return any(second not in linked[first] for first, second in combinations(between, 2))


def parent_sets(graph: Cpdag, name: str, never: Collection[Arc] = ()) -> list[frozenset[str]]:
    """All sets that are the parents of a variable in some member of the class, the smallest first.

    Members with an arc of `never` do not count. Without it the sets are the parents by compelled arcs with any open
    neighbours that are linked with each other: two that are not would be a new pair of parents of a common child, and
    nothing else can go wrong (Maathuis, Kalisch and Bühlmann 2009, lemma 3.1).
    """
    compelled = frozenset(tail for tail, head in graph.directed if head == name)
    open_ = [other for other in graph.nodes if frozenset((name, other)) in graph.undirected]
    links, found = graph.links, [frozenset[str]()]
    for other in open_:
        found += [chosen | {other} for chosen in found if all(frozenset((other, each)) in links for each in chosen)]
    sets = sorted((compelled | chosen for chosen in found), key=len)
    return [chosen for chosen in sets if _has_member(graph, name, chosen, never)] if never else sets


def _has_member(graph: Cpdag, name: str, parents: Collection[str], never: Collection[Arc]) -> bool:
    """Whether a member of the class has these parents of a variable, and no arc of `never`.

    Links are directed as these say; the rest can be if sinks can be taken away one by one (Dor and Tarsi 1992).
    """
    links, directed = graph.links, set(graph.directed)
    for tail, head in (arc for link in graph.undirected for arc in permutations(link)):
        if (head, tail) in never or (head == name and tail in parents) or (tail == name and head not in parents):
            directed.add((tail, head))
    for tail, head in directed - graph.directed:
        # turned round by another reason, or a new common child of two that are not linked
        others = [other for other, child in directed if child == head and other != tail]
        if (head, tail) in directed or any(frozenset((tail, other)) not in links for other in others):
            return False
    left = set(graph.nodes)

    def is_sink(node: str) -> bool:
        around = [other for other in left if frozenset((node, other)) in links]
        free = [other for other in around if (other, node) not in directed]
        linked = (frozenset((one, other)) in links for one in free for other in around if one != other)
        return not any((node, other) in directed for other in free) and all(linked)

    while left:
        sink = next(filter(is_sink, left), None)
        if sink is None:
            return False
        left.remove(sink)
    return True


def compare_graphs(this: Parents, other: Parents) -> Comparison:
    """What it takes to turn one graph into another over the same names."""
    ours = [(parent, child) for child, found in this.items() for parent in found]
    theirs = [(parent, child) for child, found in other.items() for parent in found]
    added = tuple(arc for arc in theirs if arc not in ours and arc[::-1] not in ours)
    removed = tuple(arc for arc in ours if arc not in theirs and arc[::-1] not in theirs)
    turned = tuple(arc for arc in ours if arc[::-1] in theirs)
    n = len(added) + len(removed) + len(turned)
    same = tuple(arc for arc in ours if arc in theirs)
    return Comparison(added, removed, turned, n, class_distance(other, this).distance, same, tuple(this))


def class_distance(found: Parents, truth: Parents) -> Distance:
    """Structural distance of the classes of two graphs over the same names."""
    ours, true = class_of(found), class_of(truth)
    common = ours.links & true.links
    directed_once = ours.directed ^ true.directed
    turned = sum(any(arc in directed_once for arc in permutations(link)) for link in common)
    missing, false = len(true.links - common), len(ours.links - common)
    return Distance(len(common), missing, false, turned, missing + false + turned)
