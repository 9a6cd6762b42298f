"""Tables fitted to numbers, not to their bins alone; and the rows that a missing number may be taken from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.model import fit as fitting
from jaxbn.model.imputing import donors
from jaxbn.model.imputing.donors import NEAREST_BY_LINE, donors_of
from jaxbn.model.imputing.ridge import fit_line
from jaxbn.model.imputing.stacking import NEAREST, SOFT, likeliest_weights

GRAPH = {"y": ["x"], "kind": ["y"]}
CUTS = {"x": [0.0], "y": [-1.0, 0.0, 1.0]}


def line(n: int = 400, share: float = 0.3, seed: int = 0) -> pd.DataFrame:
    """`y` nearly is `x`, of which the network only has the sign; `kind` is the sign of `y`, mostly."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = x + 0.1 * rng.normal(size=n)
    kind = np.where(rng.random(n) < 0.9, y > 0, rng.random(n) < 0.5)
    frame = pd.DataFrame({"x": x, "y": y, "kind": np.where(kind, "up", "down")})
    frame.loc[rng.random(n) < share, "y"] = np.nan
    frame.loc[rng.random(n) < share / 3, "kind"] = None
    return frame


def fit(frame: pd.DataFrame, **options: Any) -> jaxbn.BayesNet:
    return jaxbn.fit(frame, GRAPH, CUTS, **{"inside_bins": True, **options})


# --- donors


def by_definition(target, features, known, bins) -> list[np.ndarray]:
    """Of each missing entry the share of every row, experts and their weights written out row by row."""
    has, holes = np.flatnonzero(bins >= 0), np.flatnonzero(bins < 0)
    judged = has[np.random.default_rng(0).permutation(len(has))]
    line, left_out = fit_line(features[has], target[has])

    def experts(row: int, said: float) -> list[np.ndarray]:
        others = has[has != row]
        apart = np.abs(line(features[others]) - said)
        found = [shares_of(others[np.argsort(apart)[:k]], np.ones(k)) for k in NEAREST_BY_LINE]
        apart = np.sqrt(
            (((features[others] - features[row]) / features[has].std(axis=0) * known[row]) ** 2).sum(axis=1)
        )
        nearest = np.argsort(apart)
        return found + [shares_of(others[nearest[:k]], 1 / (apart[nearest[:k]] + SOFT)) for k in NEAREST]

    def shares_of(nearest: np.ndarray, weights: np.ndarray) -> np.ndarray:
        found = np.zeros(len(target))
        found[nearest] = weights / weights.sum()
        return found

    right = np.array(
        [
            [share[bins == bins[row]].sum() for share in experts(row, left_out[has == row].item())]
            for row in judged.tolist()
        ]
    )
    floor = 1 / (len(has) + 1)
    weights = likeliest_weights((right.T + floor) / (1 + floor * (bins.max() + 1)))
    return [np.tensordot(weights, experts(row, line(features[[row]]).item()), axes=1) for row in holes.tolist()]


@pytest.mark.parametrize("seed", range(3))
def test_donors_are_those_of_the_definition(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(donors, "BLUR", 0.0)
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(160, 3)) * [1, 9, 0.2]
    target = features @ [1.0, 0.1, 0.0] + 0.5 * features[:, 0] ** 2 + 0.3 * rng.normal(size=160)
    bins = np.digitize(target, [-0.5, 0.5]).astype(np.int32)
    bins[rng.random(160) < 0.2] = -1
    known = rng.random(features.shape) < 0.8
    known[:, 0] = True
    found = donors_of(target, features, known, bins)
    for rows, mine, theirs in zip(found.rows, found.shares, by_definition(target, features, known, bins), strict=True):
        np.testing.assert_allclose(np.bincount(rows, mine, minlength=160), theirs, atol=1e-9)
    np.testing.assert_allclose(found.shares.sum(axis=1), 1)
    otherwise = np.array([[0.2, 0.3, 0.5]] * len(found.rows))
    shares, number = np.bincount(bins[found.rows[0]], found.shares[0], minlength=3), 1 / (found.shares[0] ** 2).sum()
    np.testing.assert_allclose(found.chances(bins, otherwise)[0], (number * shares + otherwise[0]) / (number + 1))


@pytest.mark.parametrize("of_levels", [False, True])
def test_what_tells_nothing_leaves_all_rows_as_donors(of_levels: bool) -> None:
    """Rows may not tell their own number: of each the others would then seem to know it, and all would be the mean."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 1000))
    features = (x > 0).astype(float)[:, None] if of_levels else x[:, None]
    bins = np.where(rng.random(1000) < 0.3, -1, np.digitize(y, [-1.0, -0.3, 0.3, 1.0])).astype(np.int32)
    found = donors_of(y, features, np.ones((1000, 1), bool), bins)
    shares = np.bincount(bins[bins >= 0]) / (bins >= 0).sum()
    chances = found.chances(bins, np.tile(shares, (len(found.rows), 1)))
    np.testing.assert_allclose(chances.mean(axis=0), shares, atol=0.05)
    drawn = y[found.draw(rng)]
    assert drawn.std() == pytest.approx(1, abs=0.1)


def test_donors_are_drawn_by_their_shares() -> None:
    x = np.linspace(-1, 1, 60)
    bins = np.where(np.arange(60) == 30, -1, x > 0).astype(np.int32)
    found = donors_of(x, x[:, None], np.ones((60, 1), bool), bins)
    rng = np.random.default_rng(0)
    drawn = np.bincount([found.draw(rng)[0] for _ in range(4000)], minlength=60)
    shares = np.bincount(found.rows[0], found.shares[0], minlength=60)
    np.testing.assert_allclose(drawn / 4000, shares, atol=0.03)
    assert drawn[30] == 0


def test_rows_alike_count_where_no_line_tells() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, 300)
    y = np.abs(x)
    bins = np.digitize(y, [1.0, 2.0]).astype(np.int32)
    gone = rng.random(300) < 0.2
    found = donors_of(y, x[:, None], np.ones((300, 1), bool), np.where(gone, -1, bins))
    assert np.abs((found.shares * y[found.rows]).sum(axis=1) - y[gone]).mean() < 0.1
    chances = found.chances(bins, np.full((int(gone.sum()), 3), 1 / 3))
    assert (chances.argmax(axis=1) == bins[gone]).mean() > 0.9


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_a_few_rows_are_donors_too(n: int) -> None:
    bins = np.array([-1, *[i % 2 for i in range(n)]], np.int32)
    x = np.arange(n + 1.0)
    found = donors_of(x, x[:, None], np.ones((n + 1, 1), bool), bins)
    assert set(found.rows.ravel().tolist()) <= set(range(1, n + 1))
    np.testing.assert_allclose(found.shares.sum(axis=1), 1)


# --- tables


def test_numbers_tell_what_bins_do_not() -> None:
    true = jaxbn.fit(line(share=0.0), GRAPH, CUTS).tables
    bins, numbers = fit(line(), inside_bins=False).tables, fit(line()).tables
    for name in ("y", "kind"):
        assert np.abs(numbers[name] - true[name]).sum() < np.abs(bins[name] - true[name]).sum()


def test_the_objective_never_falls_and_the_same_data_give_the_same_tables() -> None:
    net = fit(line())
    assert len(net.em_trace) > 2
    assert (np.diff(net.em_trace) >= -1e-9).all()
    assert net == fit(line())
    assert net.tables["y"].tolist() != fit(line(), inside_bins=False).tables["y"].tolist()


def test_without_numbers_or_without_holes_nothing_changes() -> None:
    whole = line(share=0.0)
    assert fit(whole) == fit(whole, inside_bins=False)
    words = pd.DataFrame({"a": ["u", "v", None] * 20, "b": ["u", "v"] * 30})
    plain = jaxbn.fit(words, {"b": ["a"]}, {})
    assert jaxbn.fit(words, {"b": ["a"]}, {}, inside_bins=True) == plain
    alone = line()[["y"]].dropna(how="all")
    alone.loc[0, "y"] = np.nan
    assert jaxbn.fit(alone, {}, {"y": [0.0]}, inside_bins=True).tables["y"].sum() == pytest.approx(1)
    only_words = line().assign(y=line(share=0.0)["y"])
    assert fit(only_words) == fit(only_words, inside_bins=False)


def tables(frame: pd.DataFrame, cuts: dict[str, Any], graph: dict[str, Any], **options: Any) -> dict[str, np.ndarray]:
    return jaxbn.fit(frame, graph, cuts, **{"inside_bins": True, **options}).tables


def test_numbers_that_tell_nothing_change_little() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(600, 3)), columns=list("xyz"))
    frame.loc[rng.random(600) < 0.3, "y"] = np.nan
    cuts = {"x": [0.0], "y": [-1.0, -0.3, 0.3, 1.0], "z": []}
    bins, numbers = (tables(frame, cuts, {}, inside_bins=inside)["y"] for inside in (False, True))
    np.testing.assert_allclose(numbers, bins, atol=0.03)


def test_what_is_missing_for_a_reason_that_was_seen_is_made_up_for() -> None:
    """`y` is missing where `x` is large, and the network has one bin of `x`: its numbers alone can tell."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    y = x + 0.3 * rng.normal(size=4000)
    full = pd.DataFrame({"x": x, "y": y})
    frame = full.assign(y=np.where(rng.random(4000) < np.where(x > 0.3, 0.9, 0.05), np.nan, y))
    cuts = {"x": [], "y": [0.5]}
    true = tables(full, cuts, {"y": ["x"]})["y"].ravel()
    bins, numbers = (tables(frame, cuts, {"y": ["x"]}, inside_bins=inside)["y"].ravel() for inside in (False, True))
    assert abs(bins[1] - true[1]) > 0.2
    assert numbers[1] == pytest.approx(true[1], abs=0.03)


def test_two_numbers_that_are_missing_together_are_no_surer_than_rows_alike() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=2000)
    x = z + rng.normal(size=2000)
    full = pd.DataFrame({"z": z, "x": x, "y": x + 0.05 * rng.normal(size=2000)})
    frame = full.copy()
    frame.loc[rng.random(2000) < 0.3, ["x", "y"]] = np.nan
    cuts = {"z": [0.0], "x": [-1.0, 0.0, 1.0], "y": [-1.0, 0.0, 1.0]}
    graph = {"x": ["z"], "y": ["x"]}
    true, numbers = tables(full, cuts, graph), tables(frame, cuts, graph)
    np.testing.assert_allclose(numbers["x"], true["x"], atol=0.05)
    np.testing.assert_allclose(numbers["y"], true["y"], atol=0.05)


@pytest.mark.parametrize("alpha", [1.0, 0.1, 1e-3])
def test_a_bin_that_no_row_is_in_stays_empty(alpha: float) -> None:
    frame = line()
    bounds = {"y": (-5.0, 10.0)}
    net = jaxbn.fit(frame, {"y": ["x"]}, {"x": [0.0], "y": [0.0, 9.0]}, alpha=alpha, bounds=bounds, inside_bins=True)
    assert net.tables["y"][:, 2].max() < 0.02


def test_groups_and_states_of_missing_entries() -> None:
    frame = line()
    frame["town"] = np.random.default_rng(1).choice([f"t{i}" for i in range(14)], len(frame))
    groups = jaxbn.Grouping([[f"t{i}" for i in range(7)], [f"t{i}" for i in range(7, 14)]])
    net = jaxbn.fit(frame, GRAPH, {**CUTS, "town": groups}, inside_bins=True)
    assert (np.diff(net.em_trace) >= -1e-9).all()
    state = jaxbn.fit(frame, GRAPH, {**CUTS, "town": groups}, inside_bins=True, missing="state")
    assert "y (missing)" in state.names
    assert all(np.isfinite(table).all() for table in state.tables.values())


def test_many_rows_are_fitted_by_their_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(donors, "MOST_ROWS", 300)
    assert fit(line()) == fit(line(), inside_bins=False)


def test_learning_fits_to_numbers() -> None:
    holed = line()
    net = jaxbn.learn(holed, progress=False)
    again = jaxbn.fit(holed, net.parents, net.codings, alpha="auto", inside_bins=True)
    for name, table in net.tables.items():
        np.testing.assert_array_equal(table, again.tables[name])
    assert net.em_trace == again.em_trace


def test_an_interrupt_keeps_the_tables_of_bins(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    plain = fit(line(), inside_bins=False)
    monkeypatch.setattr(fitting, "evidence_inside_bins", interrupted)
    assert fit(line()) == plain
    assert "fitted to bins" in caplog.text
    monkeypatch.undo()
    usual = fitting.fit_by_em
    monkeypatch.setattr(fitting, "fit_by_em", lambda *a, **k: interrupted() if "evidence" in k else usual(*a, **k))
    assert fit(line()) == plain


def test_heavy_tails_constant_columns_and_rows_with_one_entry() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_cauchy(200) * 1e6
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=200), "same": 1.5, "word": rng.choice(["a", "b"], 200)})
    frame = frame.mask(rng.random(frame.shape) < 0.3)
    frame.loc[0, ["x", "same", "word"]] = None
    frame.loc[0, "y"] = 1.0
    frame.loc[1] = [2.0, None, None, None]
    cuts = {"x": [0.0], "y": [-1e6, 1e6], "same": []}
    net = jaxbn.fit(frame, {"y": ["x"], "same": ["y"]}, cuts, inside_bins=True)
    assert all(np.isfinite(table).all() for table in net.tables.values())
    assert (np.diff(net.em_trace) >= -1e-9).all()
