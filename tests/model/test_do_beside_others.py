"""Interventions and equivalence classes beside pgmpy and pyAgrum, on networks of the literature."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import jaxbn

pgmpy = pytest.importorskip("pgmpy")

SET_AND_ASKED = {
    "asia": [("smoke", "dysp"), ("bronc", "xray"), ("either", "dysp")],
    "cancer": [("Smoker", "Xray"), ("Cancer", "Dyspnoea"), ("Pollution", "Cancer")],
    "earthquake": [("Alarm", "JohnCalls"), ("Burglary", "MaryCalls"), ("Earthquake", "JohnCalls")],
}


def network(name: str, folder: Path) -> jaxbn.BayesNet:
    found = next(Path(pgmpy.__file__).parent.rglob(f"{name}.bif.gz"), None)
    if found is None:
        pytest.skip(f"this pgmpy has no {name}.bif.gz")
    path = folder / f"{name}.bif"
    path.write_bytes(gzip.decompress(found.read_bytes()))
    return jaxbn.read_bif(path)


@pytest.mark.filterwarnings("ignore")  # pgmpy's own
@pytest.mark.parametrize("name", SET_AND_ASKED)
def test_do_is_pgmpys_causal_inference(name: str, tmp_path: Path) -> None:
    from pgmpy.inference import CausalInference

    net = network(name, tmp_path)
    theirs = CausalInference(net.to_pgmpy())
    for cause, outcome in SET_AND_ASKED[name]:
        for level in net.levels[cause]:
            ours = net.query(outcome, do={cause: level})
            found = theirs.query([outcome], do={cause: level}, show_progress=False)
            expected = [found.get_value(**{outcome: each}) for each in net.levels[outcome]]
            assert ours.tolist() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["asia", "cancer", "sachs", "child", "insurance", "alarm"])
def test_the_class_is_pyagrums_essential_graph(name: str, tmp_path: Path) -> None:
    pyagrum = pytest.importorskip("pyagrum")
    net = network(name, tmp_path)
    ours, theirs = net.cpdag(), net.to_pyagrum()
    graph = pyagrum.EssentialGraph(theirs)
    label = {node: theirs.variable(node).name() for node in theirs.nodes()}
    assert ours.directed == {(label[tail], label[head]) for tail, head in graph.arcs()}
    assert ours.undirected == {frozenset((label[one], label[other])) for one, other in graph.edges()}
