"""Prior knowledge about arcs: it holds in every network, whatever the search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxbn
from jaxbn.inputs.table import as_table
from jaxbn.learning.options import in_objects
from tests.reference import structure as reference


def rows(rng: np.random.Generator, n_columns: int = 6, n_rows: int = 120) -> dict[str, Any]:
    """Columns that follow from those before them, in an order that the names do not tell."""
    data: dict[str, Any] = {}
    for i in rng.permutation(n_columns):
        noise = rng.normal(size=n_rows)
        before = [np.asarray(values, float) for values in data.values()]
        sum_of = noise + (rng.choice([-1.0, 1.0], size=len(before)) @ np.array(before) if before else 0.0)
        data[f"v{i}"] = (sum_of > 0).astype(int) if rng.random() < 0.5 else sum_of
    return {name: data[name] for name in sorted(data)}


def knowledge(rng: np.random.Generator, names: list[str]) -> dict[str, Any]:
    """Tiers of most columns, some links, and sometimes a root and a leaf, or groups without arcs between them."""
    mixed = [str(name) for name in rng.permutation(names)]
    tiers = [mixed[:2], mixed[2:3], mixed[3:5]]
    return {
        "tiers": tiers,
        "roots": [mixed[0]] if rng.random() < 0.5 else [],
        "leaves": mixed[5] if rng.random() < 0.5 else [],
        "forbidden": [(mixed[1:3], mixed[3:5])] if rng.random() < 0.5 else [],
        "links": {(mixed[1], mixed[5]): rng.uniform(0.01, 0.99), (mixed[4], mixed[0]): rng.uniform(0.01, 0.99)},
    }


def holds(parents: dict[str, tuple[str, ...]], known: dict[str, Any]) -> bool:
    tier_of = {name: number for number, tier in enumerate(known["tiers"]) for name in tier}
    arcs = [(parent, child) for child, found in parents.items() for parent in found]
    forward = all(tier_of.get(parent, 0) <= tier_of.get(child, 9) for parent, child in arcs if parent in tier_of)
    return (
        forward
        and not any(child in known["roots"] for _, child in arcs)
        and not any(parent in known["leaves"] for parent, _ in arcs)
        and not any(p in tails and c in heads for tails, heads in known["forbidden"] for p, c in arcs)
    )


@pytest.mark.parametrize("search", ["exact", "orders", "k2"])
@pytest.mark.parametrize("seed", range(4))
def test_knowledge_holds_with_every_search(search: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = rows(rng)
    known = knowledge(rng, list(data))
    net = jaxbn.learn(data, **in_objects({"search": search, "restarts": 1, "progress": False, **known}))
    assert net.arcs
    assert holds(net.parents, known)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 168))
def test_knowledge_holds_in_many_networks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = rows(rng)
    known = knowledge(rng, list(data))
    for search in ("exact", "orders", "k2"):
        assert holds(
            jaxbn.learn(data, **in_objects({"search": search, "restarts": 1, "progress": False, **known})).parents,
            known,
        )
    drawn = jaxbn.sample_posterior(
        data, **in_objects({"draws": 3, "chains": 1, "burn_in": 1, "progress": False, **known})
    )
    assert all(holds(draw.parents, known) for draw in drawn.draws)


@pytest.mark.parametrize("seed", range(2))
def test_knowledge_holds_in_every_draw(seed: int) -> None:
    rng = np.random.default_rng(50 + seed)
    data = rows(rng, n_rows=60)
    known = knowledge(rng, list(data))
    found = jaxbn.sample_posterior(
        data, **in_objects({"draws": 20, "chains": 2, "burn_in": 2, "progress": False, **known})
    )
    assert all(holds(draw.parents, known) for draw in found.draws)
    assert len({tuple(sorted(net.arcs)) for net in found.networks}) > 1


def test_tiers_allow_arcs_inside_and_forwards() -> None:
    table = as_table({name: [0, 1] for name in "abcd"})
    found = jaxbn.Constraints(tiers=[["a", "b"], "c"], roots="d").rules(table)
    assert found.forbidden == {("c", "a"), ("c", "b"), ("a", "d"), ("b", "d"), ("c", "d")}
    assert jaxbn.Constraints(leaves=["a"]).rules(table).forbidden == {("a", "b"), ("a", "c"), ("a", "d")}


def test_resamples_keep_to_tiers() -> None:
    data = rows(np.random.default_rng(9), 4)
    found = jaxbn.bootstrap(
        data,
        resamples=3,
        restarts=1,
        progress=False,
        constraints=jaxbn.Constraints(tiers=[["v3"], ["v2"], ["v1", "v0"]]),
    )
    assert all(parent >= child or {parent, child} == {"v0", "v1"} for parent, child in found.strengths)


def codes(seed: int, n_columns: int, n_rows: int = 12) -> dict[str, Any]:
    """Few rows, of which a prior can still say something."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, n_rows)
    return {name: np.where(rng.random(n_rows) < 0.3, first, rng.integers(0, 3, n_rows)) for name in "abcd"[:n_columns]}


def by_definition(
    data: dict[str, Any], links: dict[tuple[str, str], float], max_parents: int = 3
) -> dict[tuple[Any, ...], float]:
    """F of all graphs."""
    names = list(data)
    numbered = {(names.index(a), names.index(b)): p for (a, b), p in links.items()}
    family = reference.allowed_families(list(data.values()), max_parents, prior=True, links=numbered, a=0.5)
    graphs = reference.all_graphs(len(names))
    return {graph: sum(family(v, parents) for v, parents in enumerate(graph)) for graph in graphs}


@pytest.mark.parametrize("search", ["exact", "orders"])
@pytest.mark.parametrize("seed", range(6))
def test_links_are_part_of_the_best_of_all_graphs(search: Any, seed: int) -> None:
    data, links = codes(seed, 4), {("a", "c"): 0.97, ("d", "b"): 0.9, ("a", "b"): 0.02}
    most = 3 if search == "exact" else 2  # a search over orders looks at all pairs of parents, not at all threes
    known = jaxbn.Constraints(links=links)
    net = jaxbn.learn(data, search=search, max_parents=most, constraints=known, progress=False)
    every = by_definition(data, links, most)
    best = max(every.values())
    assert net.search.criterion == pytest.approx(best, abs=1e-6)
    own = tuple(frozenset("abcd".index(p) for p in net.parents[name]) for name in "abcd")
    assert every[own] == pytest.approx(best, abs=1e-6)


def test_links_decide_where_rows_do_not() -> None:
    data = codes(0, 3)
    for search in ("exact", "orders", "k2"):
        for p in (0.999999, 0.000001):
            known = jaxbn.Constraints(links={("a", "b"): p, ("b", "c"): p})
            net = jaxbn.learn(data, search=search, constraints=known, restarts=1, progress=False)
            linked = {frozenset(arc) for arc in net.arcs}
            assert (frozenset("ab") in linked, frozenset("bc") in linked) == (p > 0.5, p > 0.5)


def test_links_are_part_of_the_posterior_of_all_graphs() -> None:
    """Few columns: all arcs of a draw are drawn together, independently of those before."""
    data, links = codes(3, 3), {("a", "b"): 0.8, ("c", "a"): 0.3}
    found = jaxbn.sample_posterior(
        data, draws=600, chains=2, burn_in=1, constraints=jaxbn.Constraints(links=links), progress=False
    )
    every = by_definition(data, links)
    weights = np.exp(np.array(list(every.values())) - max(every.values()))
    weights /= weights.sum()
    for i, j in ((0, 1), (0, 2), (1, 2)):
        expected = sum(w for w, graph in zip(weights, every, strict=True) if i in graph[j] or j in graph[i])
        row = found.arcs[(found.arcs["from"] == "abc"[i]) & (found.arcs["to"] == "abc"[j])]
        assert row["strength"].item() == pytest.approx(expected, abs=5 * (expected * (1 - expected) / 600) ** 0.5)


def test_groups_of_columns_stand_for_each_of_them() -> None:
    table = as_table({name: [0, 1] for name in "abcd"})
    found = jaxbn.Constraints(required=[(["a", "b"], "c")], forbidden=[("d", {"a", "b"}), (["c", "d"], ["d", "c"])])
    rules = found.rules(table)
    assert rules.required == {"c": ("a", "b")}
    assert rules.forbidden == {("d", "a"), ("d", "b"), ("c", "d"), ("d", "c")}
    assert found.named == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ({"links": {("a", "b"): 1.0}}, r"links gives \('a', 'b'\) the probability 1.0; give one between 0 and 1"),
        ({"links": {("a", "b"): "0.5"}}, r"links gives \(.a., .b.\) the probability .0.5.; give one between 0 and 1"),
        ({"links": {("a", "x"): 0.5}}, r"links .*'x'"),
        ({"links": {("a", "b"): 0.5, ("b", "a"): 0.4}}, r"has the pair \('b', 'a'\), which is there twice"),
        ({"links": {("a", "b"): 0.5}, "roots": ["a", "b"]}, r"'a', 'b'.* rule out both directions"),
        (
            {"required": [(["a", "b"], "c")], "forbidden": [("b", ["c", "d"])]},
            r"'b' -> 'c', but .forbidden. rules",
        ),
        ({"required": [(["a", "b"], "c")], "tiers": [["c"], ["a"]]}, r"'a' -> 'c', but .tiers. rules it out"),
    ],
)
def test_contradictions_are_told_by_name(known: dict[str, Any], told: str) -> None:
    table = as_table({name: [0, 1] for name in "abcd"})
    with pytest.raises(ValueError, match=told):
        jaxbn.Constraints(**known).rules(table)


def test_links_are_refused_without_evidence() -> None:
    with pytest.raises(ValueError, match=r"links is for method='evidence', got method 'bayesian'"):
        jaxbn.learn(codes(0, 3), method="bayesian", constraints=jaxbn.Constraints(links={("a", "b"): 0.9}))


def test_a_checkpoint_knows_the_links(tmp_path: Path) -> None:
    data, known = codes(0, 3), [jaxbn.Constraints(links={("a", "b"): p}) for p in (0.2, 0.7)]
    for call, more in ((jaxbn.learn, {"restarts": 2}), (jaxbn.sample_posterior, {"draws": 4, "burn_in": 1})):
        common = {"checkpoint": tmp_path / call.__name__, "progress": False, **more}
        call(data, constraints=known[0], **common)
        with pytest.raises(ValueError, match="links"):
            call(data, constraints=known[1], **common)


def test_a_mapping_stands_for_constraints():
    rows = {"a": list("xyxyxxyy"), "b": list("uvuvuuvv")}
    net = jaxbn.learn(rows, constraints={"required": [("b", "a")]}, restarts=1, progress=False)
    assert net.arcs == (("b", "a"),)
    both = in_objects({"constraints": {"roots": ["b"]}, "required": [("b", "a")]})
    assert jaxbn.learn(rows, **both, restarts=1, progress=False).arcs == (("b", "a"),)
    with pytest.raises(ValueError, match=r"constraints must be .*'tiers'"):
        jaxbn.learn(rows, constraints={"tier": []}, progress=False)
    with pytest.raises(TypeError, match=r"constraints must be jaxbn.Constraints\(...\), got 3"):
        jaxbn.learn(rows, constraints=3, progress=False)


@pytest.mark.parametrize("options", [{"tiers": 3}, {"required": None}, {"roots": 3}, {"links": [("a", "b", 0.3)]}])
def test_constraints_of_another_type_name_the_argument(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"^{next(iter(options))} must be "):
        jaxbn.Constraints(**options)
