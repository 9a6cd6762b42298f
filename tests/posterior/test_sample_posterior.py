"""Draws are reproducible, can be interrupted and resumed, and keep to what is asked of them."""

from __future__ import annotations

import itertools
import json
import warnings
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import networkx as nx
import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.cuts.methods import ARC_GAIN
from jaxbn.learning.options import in_objects
from jaxbn.posterior.chain import Chain
from jaxbn.posterior.results import effective_size, r_hat
from jaxbn.runtime import limits
from jaxbn.scores.evidence import arc_charge

mpl.use("Agg")

RNG = np.random.default_rng(1)
X = RNG.normal(size=60).round(1)
DATA = pd.DataFrame(
    {"x": X, "y": (X + 0.4 * RNG.normal(size=60)).round(1), "kind": np.where(X > 0, "b", "a"), "z": RNG.random(60)}
)
START = jaxbn.fit(DATA, {"y": ["x"]}, {"x": [0.0], "y": [0.0], "z": []})
SMALL = {"draws": 6, "chains": 2, "burn_in": 2, "progress": False, "start": START}


@pytest.fixture(scope="module")
def found() -> jaxbn.Posterior:
    return jaxbn.sample_posterior(DATA, **in_objects({**SMALL, "draws": 24}))


def same(a: jaxbn.Posterior, b: jaxbn.Posterior) -> bool:
    return a.draws == b.draws


def test_draws_are_reproducible_and_chains_differ(found: jaxbn.Posterior) -> None:
    again = jaxbn.sample_posterior(DATA, **in_objects(SMALL))
    assert again.draws == tuple(d for d in found.draws if d.sweep <= 5)
    assert found.finished
    assert [draw.chain for draw in found.draws] == [0] * 12 + [1] * 12
    first, second = (found.trace.query(f"chain == {c}")["evidence"].to_numpy() for c in (0, 1))
    assert not np.array_equal(first, second)


def test_the_evidence_of_a_draw_is_f() -> None:
    """F by the cache of learning, for draws without a variable in one bin: all their arcs say something."""
    from jaxbn.inputs.table import as_table
    from jaxbn.scores.coded_table import CodedTable
    from jaxbn.scores.evidence import EvidenceCache

    data = DATA.drop(columns="z")  # which is in one bin
    start = jaxbn.fit(data, {"y": ["x"]}, {"x": [0.0], "y": [0.0]})
    found = jaxbn.sample_posterior(data, draws=8, chains=1, burn_in=2, progress=False, start=start)
    shapes = {name: (binning.shape,) for name, binning in found.draws[0].binnings.items()}
    coded = CodedTable(as_table(data), shapes=shapes)
    cache = EvidenceCache(coded, arc_charge(len(data), True, ARC_GAIN))
    varied = [draw for draw in found.draws if min(binning.n_bins for binning in draw.binnings.values()) > 1]
    assert len(varied) >= 3
    for draw in varied:
        recoded = coded.recoded(draw.binnings)
        assert abs(draw.evidence - cache.evidence(draw.parents, recoded.columns, recoded.binnings)) < 1e-8


def test_summaries_count_draws(found: jaxbn.Posterior) -> None:
    arcs = found.arcs.set_index(["from", "to"])
    for (parent, child), row in arcs.iterrows():
        share = np.mean([parent in draw.parents[child] for draw in found.draws])
        assert abs(row["probability"] - share) < 1e-12
    total = found.bins.groupby("variable")["probability"].sum()
    np.testing.assert_allclose(total, 1.0)
    expected = np.mean([draw.binnings["x"].n_bins - 1 for draw in found.draws])
    assert abs(found.cuts.query("variable == 'x'")["probability"].sum() - expected) < 1e-9
    assert len(found.networks) == 24
    assert found.networks[3].parents == found.draws[3].parents
    likelihood = np.mean([np.exp(net.log_likelihood(DATA)) for net in found.networks], axis=0)
    np.testing.assert_allclose(np.exp(found.average.log_likelihood(DATA)), likelihood)
    assert found.effect("kind", "y").equals(found.average.effect("kind", "y"))
    assert nx.is_directed_acyclic_graph(found.consensus(0.3))
    assert {"mean", "effective_size", "r_hat"} == set(found.diagnostics.columns)
    assert "evidence" in found.diagnostics.index
    assert "24 draws from 2 chains" in repr(found)
    assert "x" in found._repr_html_()


def test_pictures_and_report(found: jaxbn.Posterior) -> None:
    assert found.plot_trace().get_ylabel().startswith("F")
    assert found.plot_cuts("x").get_xlabel() == "x"
    assert len(found.plot_arcs().patches) > 0
    with pytest.raises(ValueError, match="'kind' is not a continuous variable"):
        found.plot_cuts("kind")
    page = jaxbn.report(found.networks[0], DATA, posterior=found)
    assert "<h2>How probable</h2>" in page
    assert "posterior probability" in page


def test_a_run_is_resumed_to_the_same_draws(tmp_path) -> None:
    file = tmp_path / "draws.json"
    whole = jaxbn.sample_posterior(DATA, **in_objects(SMALL))
    jaxbn.sample_posterior(DATA, **in_objects({**SMALL, "draws": 2, "checkpoint": file}))
    resumed = jaxbn.sample_posterior(DATA, **in_objects({**SMALL, "checkpoint": file}))
    assert same(whole, resumed)
    assert same(
        whole, jaxbn.sample_posterior(DATA, **in_objects({**SMALL, "checkpoint": file}))
    )  # nothing is left to do
    with pytest.raises(ValueError, match="belongs to another run: seed was 0, now it is 1"):
        jaxbn.sample_posterior(DATA, **in_objects({**SMALL, "seed": 1, "checkpoint": file}))
    document = json.loads(file.read_text())
    del document["draws"]
    file.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="is damaged: its checksum is another"):
        jaxbn.sample_posterior(DATA, **in_objects({**SMALL, "checkpoint": file}))


def test_an_interrupt_keeps_the_draws_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAXBN_THREADS", "1")  # chains side by side
    sweep, done = Chain.sweep, []

    def interrupted(self: Chain, *args):
        done.append(1)
        if len(done) == 5:
            raise KeyboardInterrupt
        return sweep(self, *args)

    monkeypatch.setattr(Chain, "sweep", interrupted)
    with pytest.warns(jaxbn.InterruptedWarning, match="there are 4 draws of 6"):
        found = jaxbn.sample_posterior(DATA, **in_objects(SMALL))
    assert not found.finished
    assert len(found.draws) == 4  # two of each chain
    assert "ended early" in repr(found)


def test_a_time_limit_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: next(ticks)))  # the same on a busy machine
    found = jaxbn.sample_posterior(DATA, **in_objects({**SMALL, "draws": 10**6, "chains": 1, "time_limit": 2_000.0}))
    assert not found.finished
    assert 1 <= len(found.draws) < 10**6


def test_constraints_are_kept() -> None:
    options = {**SMALL, "start": None, "draws": 8, "chains": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = jaxbn.sample_posterior(
            DATA,
            **in_objects(
                {
                    **options,
                    "required": [("z", "x")],
                    "forbidden": [("x", "y")],
                    "max_parents": 1,
                    "min_width": {"x": 0.5},
                }
            ),
        )
    for draw in found.draws:
        assert draw.parents["x"] == ("z",)
        assert "x" not in draw.parents["y"]
        assert max(map(len, draw.parents.values())) <= 1
        edges = [DATA["x"].min(), *draw.binnings["x"].cuts, DATA["x"].max()]
        assert np.diff(edges).min() >= 0.5 - 1e-6


def test_a_given_graph_stays() -> None:
    graph = {"y": ["x"], "kind": ["x"]}
    found = jaxbn.sample_posterior(DATA, graph, **in_objects({**SMALL, "start": None}))
    assert all(draw.parents == {"x": (), "y": ("x",), "kind": ("x",), "z": ()} for draw in found.draws)
    assert len({draw.binnings["x"] for draw in found.draws}) > 1


def test_columns_that_learn_leaves_out_are_left_out() -> None:
    """A table that learn took, with a column of names, was refused."""
    iris = jaxbn.datasets.load("iris").frame.iloc[::3, -2:]
    data = iris.assign(name=[f"flower {i}" for i in range(len(iris))])
    short: dict[str, Any] = {"draws": 1, "chains": 1, "burn_in": 0, "progress": False}
    assert jaxbn.sample_posterior(data, **short).networks[0].names == tuple(iris)
    assert jaxbn.sample_posterior(data, {"class": ["petal_width"]}, **short).networks[0].names == tuple(iris)


def test_a_grid_is_named() -> None:
    found = jaxbn.sample_posterior(DATA, **in_objects({**SMALL, "grid": 8}))
    assert found.on_grid == ("x", "y", "z")
    assert "on a grid" in repr(found)
    positions = {float(edge) for draw in found.draws for edge in draw.binnings["z"].cuts}
    assert len(positions) <= 7


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="grid must be at most 2048"):
        jaxbn.sample_posterior(DATA, method=jaxbn.Evidence(grid=4096))
    with pytest.raises(ValueError, match="draws must be at least 1"):
        jaxbn.sample_posterior(DATA, draws=0)
    with pytest.raises(ValueError, match="start has no cuts or groups of 'z'"):
        jaxbn.sample_posterior(DATA, start=jaxbn.fit(DATA[["x", "y"]], {}, {"x": [], "y": []}))


def test_diagnostics_of_known_processes() -> None:
    """An autoregressive process of coefficient a has n (1 - a) / (1 + a) effective draws."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(4, 4000))
    process = np.zeros_like(noise)
    for t in range(1, 4000):
        process[:, t] = 0.8 * process[:, t - 1] + noise[:, t]
    expected = 16000 * 0.2 / 1.8
    assert abs(effective_size(process) / expected - 1) < 0.2
    assert r_hat(process) < 1.02
    assert r_hat(process + np.array([[0], [0], [0], [5]])) > 1.3
    assert np.isnan(r_hat(np.ones((2, 10))))
    assert np.isnan(effective_size(np.ones((2, 10))))
    assert r_hat(np.repeat([[0.0], [1.0]], 10, axis=1)) == np.inf


@pytest.mark.parametrize("graph", [None, {"class": ["petal_width"]}])
def test_missing_entries_are_filled_in_once(
    graph: dict[str, list[str]] | None, caplog: pytest.LogCaptureFixture
) -> None:
    data = jaxbn.datasets.load("iris").frame[["petal_width", "petal_length", "class"]]
    holed = data.mask(np.random.default_rng(0).random(data.shape) < 0.1)
    options = {"draws": 2, "chains": 1, "burn_in": 0, "max_parents": 1, "progress": False}
    found = jaxbn.sample_posterior(holed, graph, **in_objects(options))
    assert caplog.text.count("missing entries are filled in once, by a draw") == 1
    assert len(found.draws) == 2
    assert np.isfinite(found.average.log_likelihood(holed)).all()
    with pytest.raises(ValueError, match="missing values in"):
        jaxbn.sample_posterior(holed, graph, **in_objects({"missing": "error", **options}))


def test_an_interrupt_in_the_search_for_a_start_ends_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from jaxbn.learning import many_runs

    real, searches = many_runs.run_each, []

    def interrupted(*args):
        searches.append(1)
        yield next(real(*args))
        raise KeyboardInterrupt

    monkeypatch.setattr(many_runs, "run_each", interrupted)
    with pytest.warns(jaxbn.InterruptedWarning, match="interrupted: there are") as caught:
        found = jaxbn.sample_posterior(DATA, **in_objects({**SMALL, "start": None}))
    assert len(caught) == 1  # the search inside says nothing of its own
    assert len(searches) == 1
    assert not found.finished
