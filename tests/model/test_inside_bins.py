"""Tables fitted to numbers, not to their bins alone; and the rows that a missing number may be taken from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.model import fit as fitting
from jaxbn.model.imputing.donors import NEAREST_BY_LINE, donors_of
from jaxbn.model.imputing.lines import fit_line
from jaxbn.model.imputing.neighbours import NEAREST, SOFT
from jaxbn.model.imputing.votes import likeliest_weights

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


def by_definition(target, features, known, bins) -> tuple[list[dict[int, float]], np.ndarray]:
    """Of each missing entry the share of every donor, and the weights of the experts, row by row."""
    has, holes = np.flatnonzero(bins >= 0), np.flatnonzero(bins < 0)
    fitted, left_out = fit_line(features[has], target[has])

    def experts(row: int, said: float) -> list[dict[int, float]]:
        others = np.flatnonzero(has != row)
        found = []
        nearest = others[np.argsort(np.abs(left_out[others] - said), kind="stable")]
        found += [{has[i]: 1 / k for i in nearest[:k]} for k in NEAREST_BY_LINE]
        apart = np.sqrt((((features[has] - features[row]) / features[has].std(axis=0) * known[row]) ** 2).sum(axis=1))
        nearest = others[np.argsort(apart[others], kind="stable")]
        for k in NEAREST:
            weights = 1 / (apart[nearest[:k]] + SOFT)
            found.append(dict(zip(has[nearest[:k]].tolist(), (weights / weights.sum()).tolist(), strict=True)))
        return found

    n_bins = int(bins.max()) + 1
    right = [
        [sum(share for donor, share in expert.items() if bins[donor] == bins[row]) for expert in experts(row, said)]
        for row, said in zip(has.tolist(), left_out.tolist(), strict=True)
    ]
    floor = 1 / (len(has) + 1)
    weights = likeliest_weights((np.array(right).T + floor) / (1 + floor * n_bins))
    shares = []
    for row, said in zip(holes.tolist(), fitted(features[holes]).tolist(), strict=True):
        total: dict[int, float] = {}
        for weight, expert in zip(weights.tolist(), experts(row, said), strict=True):
            for donor, share in expert.items():
                total[int(donor)] = total.get(int(donor), 0.0) + weight * share
        shares.append(total)
    return shares, weights


@pytest.mark.parametrize("seed", range(3))
def test_donors_are_those_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(120, 3)) * [1, 9, 0.2]
    target = features @ [1.0, 0.1, 0.0] + 0.5 * features[:, 0] ** 2 + 0.3 * rng.normal(size=120)
    bins = np.digitize(target, [-0.5, 0.5]).astype(np.int32)
    bins[rng.random(120) < 0.2] = -1
    known = rng.random(features.shape) < 0.8
    known[:, 0] = True
    found = donors_of(target, features, known, bins)
    shares, _ = by_definition(target, features, known, bins)
    for rows, mine, theirs in zip(found.rows, found.shares, shares, strict=True):
        total = np.zeros(120)
        np.add.at(total, rows, mine)
        expected = np.zeros(120)
        expected[list(theirs)] = list(theirs.values())
        np.testing.assert_allclose(total, expected, atol=2e-3)  # rows that are equally near up to rounding
    np.testing.assert_allclose(found.shares.sum(axis=1), 1)
    floor = 1 / (found.n_rows + 1)
    first = np.bincount(bins[found.rows[0]], found.shares[0], minlength=3)
    np.testing.assert_allclose(found.chances(bins, 3)[0], (first + floor) / (1 + 3 * floor))
    np.testing.assert_allclose(found.means(target), (found.shares * target[found.rows]).sum(axis=1))


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
    assert np.abs(found.means(y) - y[gone]).mean() < 0.1
    assert (found.chances(bins, 3).argmax(axis=1) == bins[gone]).mean() > 0.9


@pytest.mark.parametrize("n", [2, 3, 6])
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


def test_many_rows_are_fitted_by_their_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "MOST_ROWS", 300)
    assert fit(line()) == fit(line(), inside_bins=False)


def test_learning_fits_to_numbers() -> None:
    holed = line()
    net = jaxbn.learn(holed, progress=False)
    again = jaxbn.fit(holed, net.parents, net.codings, inside_bins=True)
    for name, table in net.tables.items():
        np.testing.assert_array_equal(table, again.tables[name])
    assert net.em_trace == again.em_trace


def test_an_interrupt_keeps_the_tables_of_bins(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    plain = fit(line(), inside_bins=False)
    monkeypatch.setattr(fitting, "evidence_inside_bins", interrupted)
    assert fit(line()) == plain
    assert "fitted to bins" in caplog.text


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
