"""Prior knowledge about arcs: it holds in every network, whatever the search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jaxbn
from jaxbn.inputs.table import as_table
from jaxbn.learning.options import in_objects


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
    """Tiers of most columns, and sometimes a root and a leaf."""
    mixed = [str(name) for name in rng.permutation(names)]
    tiers = [mixed[:2], mixed[2:3], mixed[3:5]]
    return {
        "tiers": tiers,
        "roots": [mixed[0]] if rng.random() < 0.5 else [],
        "leaves": mixed[5] if rng.random() < 0.5 else [],
    }


def holds(parents: dict[str, tuple[str, ...]], known: dict[str, Any]) -> bool:
    tier_of = {name: number for number, tier in enumerate(known["tiers"]) for name in tier}
    arcs = [(parent, child) for child, found in parents.items() for parent in found]
    forward = all(tier_of.get(parent, 0) <= tier_of.get(child, 9) for parent, child in arcs if parent in tier_of)
    return (
        forward
        and not any(child in known["roots"] for _, child in arcs)
        and not any(parent in known["leaves"] for parent, _ in arcs)
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
