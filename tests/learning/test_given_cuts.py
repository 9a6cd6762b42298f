"""Cuts and words for bins that a user knows: kept through every search, shown, saved and exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.inputs.checks import ArgumentError
from jaxbn.learning.options import in_objects
from jaxbn.model.words import state_texts

CUTS: dict[str, Any] = {"age": [18, 65], "day": ["2021-01-01"]}
LABELS = {"age": ["child", "adult", "old"]}


def people(n: int = 300) -> pd.DataFrame:
    """Incomes that jump at ages other than the cuts."""
    rng = np.random.default_rng(0)
    age = rng.uniform(1, 90, n).round()
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    income = np.where((age > 30) & (age < 50), 30, 10) + rng.normal(0, 3, n)
    return pd.DataFrame({"age": age, "income": income, "day": day})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"search": "k2"},
        {"search": "k2", "method": "bayesian"},
        {"method": "mdl"},
        {"grid": 20, "restarts": 6},
        {"max_bins": 2},
    ],
)
def test_no_search_moves_them(options: dict[str, Any]) -> None:
    net = jaxbn.learn(
        people(), **in_objects({"cuts": CUTS, "labels": LABELS, "progress": False, "restarts": 2, **options})
    )
    assert net.binnings["age"].cuts.tolist() == [18.0, 65.0]
    assert state_texts(net, "day") == ["before 2021-01-01", "2021-01-01 and later"]
    assert state_texts(net, "age") == ["child", "adult", "old"]


def test_they_are_kept_where_entries_are_missing() -> None:
    holed = people()
    holed.loc[::7, "age"] = np.nan
    holed.loc[3::9, "income"] = np.nan
    net = jaxbn.learn(holed, restarts=1, progress=False, columns=jaxbn.Columns(cuts=CUTS))
    assert net.binnings["age"].cuts.tolist() == [18.0, 65.0]


def test_they_are_kept_in_a_sample_of_a_long_table(monkeypatch: pytest.MonkeyPatch) -> None:
    from jaxbn.learning import learn as module
    from jaxbn.learning import turns

    monkeypatch.setattr(module, "MANY_ROWS", 200)
    monkeypatch.setattr(module, "FINE_GRID", 20)
    monkeypatch.setattr(turns, "SAMPLE", 150)
    net = jaxbn.learn(people(), restarts=1, progress=False, columns=jaxbn.Columns(cuts=CUTS, labels=LABELS))
    assert net.binnings["age"].cuts.tolist() == [18.0, 65.0]
    assert net.binnings["age"].is_cut
    assert net.binnings["age"].labels == ("child", "adult", "old")


def test_whole_numbers_with_cuts_are_continuous() -> None:
    data = {"stars": [1, 2, 3, 4, 5] * 20, "kind": [*"aabbb"] * 20}
    assert jaxbn.learn(data, progress=False, columns=jaxbn.Columns(cuts={"stars": [3]})).binnings[
        "stars"
    ].cuts.tolist() == [3.0]


def test_files_exports_and_questions(tmp_path: Path) -> None:
    net = jaxbn.learn(people(), restarts=1, progress=False, columns=jaxbn.Columns(cuts=CUTS, labels=LABELS))
    net.save(tmp_path / "net.json")
    again = jaxbn.load(tmp_path / "net.json")
    assert again == net
    assert again.binnings["age"].labels == ("child", "adult", "old")
    assert net.state_labels("age") == ("child", "adult", "old")
    net.to_bif(tmp_path / "net.bif")
    assert "child, adult, old" in (tmp_path / "net.bif").read_text()
    assert isinstance(net.query("age").index, pd.IntervalIndex)
    for target in ("income", "day"):  # the word for a bin is evidence as the bin is
        expected = net.query(target, {"age": (18, 65)})
        pd.testing.assert_series_equal(net.query(target, {"age": "adult"}), expected)
        pd.testing.assert_series_equal(net.query(target, {"age": {"adult": 1, "old": 0}}), expected)
    assert net.sample(50, 0, given={"age": "old"})["age"].min() >= 65


def test_discretize_and_folds_keep_them() -> None:
    data, graph = people(), {"income": ["age"]}
    assert jaxbn.discretize(data, graph, columns=jaxbn.Columns(cuts=CUTS, labels=LABELS)).binnings["age"].labels == (
        "child",
        "adult",
        "old",
    )
    for method in ("evidence", "equal_width"):
        assert jaxbn.cross_validate(data, graph, method=method, folds=3, columns=jaxbn.Columns(cuts=CUTS)).bins[
            "age"
        ].tolist() == [3, 3, 3]
    assert jaxbn.cross_validate(data, folds=2, restarts=1, columns=jaxbn.Columns(cuts=CUTS)).bins["age"].tolist() == [
        3,
        3,
    ]
    rare = data.assign(age=[90.0, *data["age"].clip(upper=60)[1:]])  # in one fold no training row is beyond 65
    assert jaxbn.cross_validate(rare, graph, folds=3, columns=jaxbn.Columns(cuts=CUTS)).bins["age"].tolist() == [
        3,
        3,
        3,
    ]


@pytest.mark.parametrize("given", [{}, {"graph": {"income": ["age"]}}, {"start": True}, {"missing": True}])
def test_the_posterior_keeps_them(given: dict[str, Any], tmp_path: Path) -> None:
    """They were drawn like all others."""
    data, columns = people(), jaxbn.Columns(cuts=CUTS, labels=LABELS)
    if given.pop("missing", False):
        data.loc[::7, "age"] = np.nan
    if given.pop("start", False):
        given["start"] = jaxbn.learn(data, restarts=1, progress=False)
    short: dict[str, Any] = {"draws": 4, "chains": 2, "burn_in": 1, "progress": False, **given}
    file = tmp_path / "draws.json"
    found = jaxbn.sample_posterior(data, columns=columns, checkpoint=file, **short)
    again = jaxbn.sample_posterior(data, columns=columns, checkpoint=file, **short)
    for draw in (*found.draws, *again.draws):
        assert draw.binnings["age"].cuts.tolist() == [18.0, 65.0]
        assert draw.binnings["age"].labels == ("child", "adult", "old")
    with pytest.raises(ValueError, match="belongs to another run"):
        jaxbn.sample_posterior(data, checkpoint=file, **short)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cuts": {"aeg": [18]}}, "cuts names 'aeg', which is not a column of the data; did you mean 'age'?"),
        ({"cuts": {"age": [0, 18]}}, "cuts of 'age' run from 0 to 18 but its values from 1 to 90"),
        ({"cuts": {"age": ["x"]}}, "cuts of 'age': column 'age' holds 'x', which is not a number"),
        ({"cuts": {"age": [30, 18]}}, "cuts of 'age': cuts must be .* ascending"),
        ({"cuts": {"day": ["soon"]}}, "cuts of 'day': column 'day' holds 'soon', which is not a date"),
        ({"labels": LABELS}, "labels names 'age', whose bins are not known; give its cuts with `cuts`"),
        ({"cuts": CUTS, "labels": {"age": ["a"]}}, "labels of 'age': labels must be 3 different words"),
        ({"cuts": CUTS, "labels": {"age": "abc"}}, "labels of 'age' must be a list of words"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        jaxbn.learn(people(), **in_objects({"progress": False, **options}))
