"""Structure and cuts in turns: F rises, both halves end at their optimum, and what users see at once is found."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.inputs.graph import children_of
from jaxbn.learning.options import in_objects
from jaxbn.learning.turns import STARTS
from jaxbn.runtime import limits
from tests.helpers.random_tables import random_table
from tests.reference import evidence as reference

QUIET = {"progress": False}


def two_columns(kind: str, n: int = 2000) -> pd.DataFrame:
    """Dependences that anyone sees in a scatter plot."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    if kind == "square":
        y = x**2 + 0.3 * rng.normal(size=n)
    elif kind == "spread":
        y = np.abs(x) * rng.normal(size=n)
    elif kind == "outlier":
        y = x + 0.5 * rng.normal(size=n)
        y[0] = 1e6
    elif kind == "lognormal":
        y = np.exp(2 * x + 0.5 * rng.normal(size=n))
        x = np.exp(2 * x)
    else:
        x = rng.standard_cauchy(n)
        y = x + rng.standard_cauchy(n)
    return pd.DataFrame({"x": x, "y": y})


@pytest.mark.parametrize("kind", ["square", "spread", "outlier", "lognormal", "cauchy"])
def test_a_dependence_that_anyone_sees_is_found(kind: str) -> None:
    net = jaxbn.learn(two_columns(kind), **in_objects({"restarts": 1, **QUIET}))
    assert len(net.parents["x"]) + len(net.parents["y"]) == 1
    assert net.binnings["x"].n_bins > 2
    assert net.binnings["y"].n_bins > 2


@pytest.fixture(scope="module")
def cars() -> pd.DataFrame:
    return jaxbn.datasets.load("auto_mpg").frame


@pytest.fixture(scope="module")
def learned(cars: pd.DataFrame) -> jaxbn.BayesNet:
    return jaxbn.learn(cars, **in_objects({"restarts": 2, "shape": "flat", "max_bins": None, **QUIET}))


def test_every_step_raises_f(learned: jaxbn.BayesNet) -> None:
    assert len(learned.trace) > 3
    assert (np.diff(learned.trace) > 0).all()


def test_f_is_that_of_the_definition(cars: pd.DataFrame, learned: jaxbn.BayesNet) -> None:
    columns = {name: cars[name].to_numpy() for name in cars}
    cuts = {name: binning.cuts for name, binning in learned.binnings.items()}
    parents = {name: list(found) for name, found in learned.parents.items()}
    wanted = reference.total_evidence(columns, list(cuts), parents, cuts) - reference.arcs_charge(parents, len(cars))
    assert learned.trace[-1] == pytest.approx(wanted, rel=1e-12)


def test_both_halves_end_at_their_optimum(cars: pd.DataFrame, learned: jaxbn.BayesNet) -> None:
    codes = {name: learned.binnings[name](cars[name]) for name in learned.binnings}
    codes |= {name: pd.factorize(cars[name], sort=True)[0] for name in learned.levels}
    children = children_of(learned.parents)
    for name, binning in learned.binnings.items():
        families = [(codes[c], [codes[s] for s in learned.parents[c] if s != name]) for c in children[name]]
        own = [codes[p] for p in learned.parents[name]]
        best = jaxbn.discretize_variable(cars[name], own, families, shape="flat", max_bins=None)
        assert best.cuts.tolist() == binning.cuts.tolist()
    assert learned.search.proved
    assert "proved" in str(learned.search)


def test_the_grid_changes_nothing_in_the_end(cars: pd.DataFrame) -> None:
    """Cuts searched at 40 positions while arcs move are as good after the exact finish as cuts at all positions."""
    coarse = jaxbn.learn(cars, **in_objects({"restarts": 1, "grid": 40, **QUIET}))
    children = children_of(coarse.parents)
    codes = {name: coarse.binnings[name](cars[name]) for name in coarse.binnings}
    codes |= {name: pd.factorize(cars[name], sort=True)[0] for name in coarse.levels}
    for name, binning in coarse.binnings.items():
        families = [(codes[c], [codes[s] for s in coarse.parents[c] if s != name]) for c in children[name]]
        best = jaxbn.discretize_variable(
            cars[name], [codes[p] for p in coarse.parents[name]], families, method="evidence"
        )
        assert best.cuts.tolist() == binning.cuts.tolist()
    assert (np.diff(coarse.trace) > 0).all()


@pytest.fixture(scope="module")
def long_table() -> tuple[pd.DataFrame, list[str]]:
    """More distinct values than a grid to the last row has."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=3000)
    y = np.abs(x) + 0.4 * rng.normal(size=3000)
    z = np.where(y + 0.5 * rng.normal(size=3000) > 0.8, "high", "low")
    return pd.DataFrame({"x": x, "y": y, "z": z}), ["x", "y"]


@pytest.mark.parametrize("method", ["evidence", "bayesian"])
def test_cuts_are_proved_or_said_not_to_be(method: str, long_table: tuple[pd.DataFrame, list[str]]) -> None:
    frame, continuous = long_table
    proved, refined = (
        jaxbn.learn(
            frame, **in_objects({"continuous": continuous, "restarts": 1, "method": method, "exact": exact, **QUIET})
        )
        for exact in (True, False)
    )
    assert proved.search.cuts_proved
    assert not refined.search.cuts_proved
    assert "refined" in str(refined.search)
    if method == "evidence":
        assert refined.search.criterion > proved.search.criterion - 10  # the turns may end in another local optimum
        assert (np.diff(refined.trace) > 0).all()


@pytest.mark.parametrize("method", ["evidence", "bayesian"])
def test_a_very_long_table_is_searched_on_a_sample_and_finished_on_all_rows(
    method: str, long_table: tuple[pd.DataFrame, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, continuous = long_table
    options: dict[str, Any] = {"continuous": continuous, "restarts": 1, "method": method, **QUIET}
    whole = jaxbn.learn(frame, **in_objects(options))
    monkeypatch.setattr("jaxbn.learning.learn.MANY_ROWS", 2500)
    monkeypatch.setattr("jaxbn.learning.turns.SAMPLE", 1000)
    sampled = jaxbn.learn(frame, **in_objects(options))
    assert whole.search.sample is None
    assert sampled.search.sample == 1000
    assert "sample of 1,000 rows" in str(sampled.search)
    for name in continuous:
        assert sampled.binnings[name].lower == frame[name].min()
        assert sampled.binnings[name].upper == frame[name].max()
    if method == "evidence":
        assert sampled.search.criterion > whole.search.criterion - 10
        assert (np.diff(sampled.trace) > 0).all()


def test_a_sample_that_runs_out_of_time_has_the_range_of_all_rows(
    long_table: tuple[pd.DataFrame, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, continuous = long_table
    monkeypatch.setattr("jaxbn.learning.learn.MANY_ROWS", 2500)
    monkeypatch.setattr("jaxbn.learning.turns.SAMPLE", 1000)
    net = jaxbn.learn(frame, **in_objects({"continuous": continuous, "time_limit": 1e-3, **QUIET}))
    assert not net.search.finished
    assert not net.search.cuts_proved
    for name in continuous:
        assert net.binnings[name].lower == frame[name].min()
        assert net.binnings[name].upper == frame[name].max()


@pytest.mark.parametrize("method", ["evidence", "bayesian", "mdl"])
def test_runs_side_by_side_change_nothing(method: str) -> None:
    drawn = random_table(3, n_rows=120, n_columns=5)
    found = [
        jaxbn.learn(
            drawn.frame, **in_objects({"continuous": drawn.continuous, "method": method, "restarts": 6, **QUIET})
        )
        for k in (1, 3, 64)
    ]
    for other in found[1:]:
        assert other.parents == found[0].parents
        assert other.score == found[0].score
        assert other.trace == found[0].trace


def test_more_runs_are_never_worse() -> None:
    drawn = random_table(4, n_rows=150, n_columns=6)
    few, many = (
        jaxbn.learn(drawn.frame, **in_objects({"continuous": drawn.continuous, "restarts": k, **QUIET}))
        for k in (len(STARTS), 8)
    )
    assert many.search.criterion >= few.search.criterion
    assert many.search.runs == 8


def test_an_arc_and_its_cuts_change_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither half of a turn can improve alone, a changed arc with new cuts can; every step still raises F."""
    glass = jaxbn.datasets.load("glass")
    ask: dict[str, Any] = {"continuous": glass.continuous, "restarts": 2, "shape": "flat", "max_bins": None, **QUIET}
    further = jaxbn.learn(glass.frame, **in_objects(ask))

    def stay(self: Any, parents: Any, now: Any, watch: Any) -> Any:
        return parents, now
        yield

    monkeypatch.setattr("jaxbn.learning.turns.TurnRuns.joint_moves", stay)
    turns = jaxbn.learn(glass.frame, **in_objects(ask))
    assert further.trace[-1] > turns.trace[-1] + 1
    assert (np.diff(further.trace) > 0).all()
    assert further.search.proved


def test_variables_of_one_bin_have_no_arcs() -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        net = jaxbn.learn(
            pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc")), **in_objects({"restarts": 2, **QUIET})
        )
        for child, parents in net.parents.items():
            for parent in parents:
                assert net.binnings[child].n_bins > 1
                assert net.binnings[parent].n_bins > 1


def test_few_arcs_between_independent_columns() -> None:
    """At most 2 in 20 tables of 100 rows (benchmarks/structure.py has more of them, and longer ones)."""
    with_arcs = 0
    for seed in range(20):
        frame = pd.DataFrame(np.random.default_rng(100 + seed).normal(size=(100, 3)), columns=list("abc"))
        with_arcs += any(jaxbn.learn(frame, **in_objects({"restarts": 2, **QUIET})).parents.values())
    assert with_arcs <= 2


def test_constraints_are_kept(cars: pd.DataFrame) -> None:
    net = jaxbn.learn(
        cars,
        **in_objects(
            {
                "restarts": 1,
                "max_parents": 2,
                "required": [("origin", "mpg")],
                "forbidden": [("weight", "displacement")],
                **QUIET,
            }
        ),
    )
    assert "origin" in net.parents["mpg"]
    assert "weight" not in net.parents["displacement"]
    assert max(map(len, net.parents.values())) <= 2


def test_a_time_limit_gives_a_complete_network(cars: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GRACE", 600.0)  # a first network takes its time on a busy machine
    net = jaxbn.learn(cars, **in_objects({"restarts": 500, "time_limit": 0.01, **QUIET}))
    assert not net.search.finished
    assert net.search.runs == 0
    assert str(net.search).startswith("an unfinished run in")
    assert "ended early" in str(net.search)
    assert np.isfinite(net.log_likelihood(cars)).all()
    assert sum(map(len, net.parents.values())) > 0


def test_ctrl_c_gives_the_best_so_far(cars: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    from jaxbn.learning.many_runs import ManyRuns

    calls = []

    def interrupted(self: ManyRuns) -> None:
        calls.append(time.monotonic())
        if self.found:
            raise KeyboardInterrupt

    monkeypatch.setattr(ManyRuns, "check_time", interrupted)
    with pytest.warns(jaxbn.InterruptedWarning, match=r"best of \d+ finished runs out of 8"):
        net = jaxbn.learn(cars, **in_objects({"restarts": 8, **QUIET}))
    assert not net.search.finished
    assert np.isfinite(net.log_likelihood(cars)).all()


def test_options_that_a_search_does_not_use_are_refused(cars: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="order is for search='k2'"):
        jaxbn.learn(cars, **in_objects({"search": "exact", "order": list(cars.columns)}))
    with pytest.raises(ValueError, match="warm_start is for search='k2'"):
        jaxbn.learn(cars, **in_objects({"method": "bayesian", "search": "exact", "warm_start": True}))
    with pytest.raises(ValueError, match="search must be"):
        jaxbn.learn(cars, search="tabu")


def test_exact_arcs_of_too_many_columns_are_refused_at_once() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 21)), columns=[f"x{i}" for i in range(21)])
    with pytest.raises(ValueError, match=r"up to 20 of them, and 21 have .* use search='orders' or leave out columns"):
        jaxbn.learn(frame, **in_objects({"search": "exact", **QUIET}))


def test_discrete_tables_need_no_cuts() -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(3, size=400)
    b = (a + (rng.random(400) < 0.2)) % 3
    c = rng.integers(2, size=400)
    net = jaxbn.learn({"a": a.astype(str), "b": b.astype(str), "c": c.astype(str)}, **in_objects(QUIET))
    assert len(net.parents["a"]) + len(net.parents["b"]) == 1
    assert net.parents["c"] == ()
    assert net.search.proved


def test_a_search_over_orders_says_what_it_may_have_missed(cars: pd.DataFrame) -> None:
    exact = jaxbn.learn(cars, **in_objects({"restarts": 1, **QUIET}))
    net = jaxbn.learn(cars, **in_objects({"restarts": 1, "search": "orders", **QUIET}))
    assert exact.search is not None
    assert net.search is not None
    assert net.search.search == "orders"
    assert not net.search.proved
    assert net.search.gap is not None
    assert 0 <= net.search.gap < 1000
    assert all(a <= b + 1e-6 for a, b in pairwise(net.trace))
    assert net.search.criterion >= exact.search.criterion - 20


def chain_of_numbers(n: int) -> pd.DataFrame:
    """The bins of the middle one do not tell all of it, so that the first seems to tell of the last."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=n)
    b = a + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "c": b + 0.3 * rng.normal(size=n)})


def test_what_bins_hide_is_no_link() -> None:
    data = chain_of_numbers(4000)
    options: dict[str, Any] = {"max_bins": 5, "restarts": 1, "progress": False, "lines": False}
    everything = jaxbn.learn(data, method=jaxbn.Evidence(arc_gain=0.0), **options)
    net = jaxbn.learn(data, **options)
    assert {frozenset(arc) for arc in everything.arcs} == {frozenset(pair) for pair in ("ab", "bc", "ac")}
    assert {frozenset(arc) for arc in net.arcs} == {frozenset(pair) for pair in ("ab", "bc")}


def test_levels_hide_nothing_and_arcs_of_a_discrete_table_need_not_tell_much() -> None:
    data = chain_of_numbers(3000).map(lambda x: "low" if x < 0 else "high")
    options: dict[str, Any] = {"restarts": 1, "progress": False}
    strict = jaxbn.learn(data, method=jaxbn.Evidence(arc_gain=10.0), **options)
    assert strict.parents == jaxbn.learn(data, **options).parents
    assert len(strict.arcs) > 0


@pytest.mark.parametrize("wrong", [-1, np.inf, np.nan, "much"])
def test_an_arc_gain_that_is_no_charge_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="arc_gain must be finite and at least zero, got"):
        jaxbn.Evidence(arc_gain=wrong)
