"""The experts that fill in entries, each against its definition written out row by row, and the weights they get."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.model.imputing.donors import donors_of
from jaxbn.model.imputing.regression import fit_regressions
from jaxbn.model.imputing.ridge import fit_line
from jaxbn.model.imputing.stacking import NEAREST, SOFT, Neighbours, fit_mixture, fit_votes
from jaxbn.model.imputing.stacking import _chances as votes_by_lines
from jaxbn.model.imputing.stacking import least_squares_weights as least_squares
from jaxbn.model.imputing.stacking import likeliest_weights as most_likely
from jaxbn.runtime import limits


def test_what_a_line_says_of_a_row_left_out_is_what_the_line_of_the_others_says() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3)) * [1, 5, 0.1]
    y = x @ [1.0, -0.5, 4.0] + 2 + 0.01 * rng.normal(size=60)  # so little noise that the prior has no say
    _, left_out = fit_line(x, y)
    design = np.column_stack([np.ones(60), x])
    for row in range(60):
        others = np.arange(60) != row
        weights = np.linalg.lstsq(design[others], y[others], rcond=None)[0]
        said = np.clip(design[row] @ weights, y.min(), y.max())
        assert left_out[row] == pytest.approx(said, abs=1e-4)


@pytest.mark.parametrize("own", [False, True])
def test_neighbours_are_the_rows_nearest_in_what_is_known(own: bool) -> None:
    rng = np.random.default_rng(1)
    rows, targets = rng.normal(size=(80, 3)) * [1, 20, 0.5], rng.normal(size=(80, 2))
    asked = rows if own else rng.normal(size=(15, 3))
    known = rng.random(asked.shape) < 0.7
    known[0] = False
    found = Neighbours.of(rows).means(targets, known, None if own else asked)
    for i, row in enumerate(asked):
        apart = np.sqrt(((((rows - row) / rows.std(axis=0)) * known[i]) ** 2).sum(axis=1))
        apart[i] = np.inf if own else apart[i]
        order = np.argsort(apart)
        for k, n in enumerate(NEAREST):
            weights = 1 / (apart[order[:n]] + SOFT)
            said = weights @ targets[order[:n]] / weights.sum() if known[i].any() else targets.mean(axis=0)
            np.testing.assert_allclose(found[i, k], said, atol=1e-6)


def test_the_weights_of_numbers_are_those_of_least_squares_that_add_up_to_one() -> None:
    rng = np.random.default_rng(2)
    target = rng.normal(size=300)
    said = target[:, None] + rng.normal(size=(300, 3)) * [0.5, 0.8, 3.0]
    found = least_squares(said, target)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1)
    grid = np.array([(a, b, 1 - a - b) for a in np.linspace(0, 1, 101) for b in np.linspace(0, 1 - a, 51)])
    errors = ((said @ grid.T - target[:, None]) ** 2).sum(axis=0)
    assert ((said @ found - target) ** 2).sum() <= errors.min() + 1e-3


def test_the_weights_of_levels_are_the_most_likely_ones() -> None:
    said = np.random.default_rng(3).random((2, 400)) ** [[1], [2]]
    found = most_likely(said)
    shares = np.linspace(0, 1, 1001)
    best = shares[np.log(shares[:, None] * said[0] + (1 - shares[:, None]) * said[1]).sum(axis=1).argmax()]
    np.testing.assert_allclose(found, [best, 1 - best], atol=2e-3)


def test_a_mean_without_the_row_itself_gives_nothing_away() -> None:
    """With a weight below 0 it would tell every row: it is the lower, the higher the row was that it leaves out."""
    rng = np.random.default_rng(4)
    target, other = rng.normal(size=(2, 200))
    without = (target.sum() - target) / 199
    known = np.ones((200, 1), bool)
    found = fit_mixture(without[:, None], other[:, None], known, target)
    said = found(np.full((200, 1), target.mean()), rng.normal(size=(200, 1)), known)
    assert np.abs(said - target.mean()).mean() < 0.3


def test_experts_see_what_no_line_does() -> None:
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (400, 2))
    known = np.ones((400, 2), bool)
    nothing = np.zeros((400, 1))
    curve = fit_mixture(nothing, x, known, x[:, 0] ** 2)
    new = rng.uniform(-1, 1, (100, 2))
    said = curve(nothing[:100], new, known[:100])[:, 0]
    assert np.abs(said - new[:, 0] ** 2).mean() < 0.1
    quadrant = (x[:, 0] * x[:, 1] > 0).astype(np.int32)
    votes = fit_votes(np.full((400, 2), 0.5), x, known, quadrant)
    chances = votes(np.full((100, 2), 0.5), new, known[:100])
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert (chances.argmax(axis=1) == (new[:, 0] * new[:, 1] > 0)).mean() > 0.85


def test_lines_that_part_levels_are_sure_of_them() -> None:
    """What three lines say of the level in the middle is hardly more than of the others; their chances are."""
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 3, 300).astype(np.int32)
    features = np.eye(3)[codes] + 0.3 * rng.normal(size=(300, 3)) + rng.normal(size=(300, 1))
    known = np.ones(features.shape, bool)
    votes = fit_votes(np.full((300, 3), 1 / 3), features, known, codes)
    said = np.column_stack([line(features) for line in votes.lines])
    right = np.arange(300), codes
    sharp = votes.shares * np.exp(votes.sharpness * said)
    likelihood = np.log((sharp / sharp.sum(axis=1, keepdims=True))[right]).sum()
    plain = np.clip(said, 1e-3, 1)
    assert likelihood > np.log((plain / plain.sum(axis=1, keepdims=True))[right]).sum() + 50


def test_lines_that_know_nothing_say_the_shares_of_levels() -> None:
    rng = np.random.default_rng(8)
    codes = rng.choice(4, 400, p=[0.7, 0.25, 0.05, 0.0]).astype(np.int32)
    features = rng.normal(size=(400, 3))
    votes = fit_votes(np.full((400, 4), 0.25), features, np.ones((400, 3), bool), codes)
    said = np.column_stack([line(features) for line in votes.lines])
    np.testing.assert_allclose(
        votes_by_lines(said, votes.shares, votes.sharpness).mean(axis=0), votes.shares, atol=0.03
    )
    assert (votes_by_lines(said, votes.shares, votes.sharpness)[:, 3] == 0).all()


def test_levels_are_filled_in_by_what_lies_inside_bins() -> None:
    """The bins of the network say nothing of the word; the numbers inside them do."""
    rng = np.random.default_rng(6)
    x = rng.uniform(0, 10, 300)
    frame = pd.DataFrame({"x": x, "word": np.where(x % 5 > 2.5, "high", "low")})
    net = jaxbn.fit(frame, {"word": ["x"]}, {"x": [5.0]})
    holed = frame.copy()
    holed.loc[:49, "word"] = None
    right = net.impute(holed, "regression")["word"][:50] == frame["word"][:50]
    assert right.mean() > 0.9


def test_a_level_that_no_row_has_is_not_filled_in() -> None:
    frame = pd.DataFrame({"word": pd.Categorical(["a", "b"] * 30 + [None], ["a", "b", "c"]), "x": np.arange(61.0)})
    net = jaxbn.fit(frame, {"word": ["x"]}, {"x": [30.0]})
    assert net.impute(frame, "regression")["word"].iloc[-1] in ("a", "b")


@pytest.mark.parametrize("work", ["donors", "neighbours", "regressions"])
def test_experts_end_when_the_time_is_up(work: str) -> None:
    x = np.linspace(-1, 1, 200)
    net = jaxbn.fit({"x": x, "y": x**2}, {"y": ["x"]}, {"x": [0.0], "y": [0.5]}, lines=False)
    codes = np.stack([net.binnings[name](values) for name, values in (("x", x), ("y", x**2))], axis=1)
    codes[3, 1] = -1
    ask = {
        "donors": lambda: donors_of(x**2, x[:, None], np.ones((200, 1), bool), codes[:, 1]),
        "neighbours": lambda: list(Neighbours.of(x[:, None]).nearest(np.ones((200, 1), bool))),
        "regressions": lambda: fit_regressions(net, codes, {"x": x, "y": np.where(codes[:, 1] < 0, np.nan, x**2)}),
    }[work]
    ask()
    with limits.within(0.0), pytest.raises(limits.TimeIsUpError):
        ask()
