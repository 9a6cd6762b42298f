"""A network with dates and durations: cuts, questions, samples and imputed entries speak of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.drawing.report import report
from jaxbn.inputs.units import Unit
from jaxbn.learning.options import in_objects
from jaxbn.model.words import cuts_in_words, state_texts

OPTIONS = {"restarts": 1, "progress": False}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    days = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 366, 200)), "D"))
    warm = (days >= "2020-05-01") & (days < "2020-10-01")
    late = pd.to_timedelta(np.where(warm, 60, 600) + rng.integers(0, 60, 200), "s")
    return pd.DataFrame({"day": days, "warm": warm, "late": late})


@pytest.fixture(scope="module")
def net(frame: pd.DataFrame) -> jaxbn.BayesNet:
    return jaxbn.fit(frame, {"day": ["warm"], "late": ["warm"]})


def test_cuts_are_dates(net: jaxbn.BayesNet, frame: pd.DataFrame) -> None:
    assert net.binnings["day"].unit == Unit("date")
    assert net.binnings["late"].unit == Unit("duration")
    first, last = cuts_in_words(net, "day").split(", ")
    changes = frame["day"][frame["warm"] != frame["warm"].shift(fill_value=False)]
    assert (pd.to_datetime([first, last]) <= changes).all()
    assert (pd.to_datetime([first, last]) > frame["day"][changes.index - 1]).all()
    before = f"{pd.Timestamp(last) - pd.Timedelta(days=1):%Y-%m-%d}"
    assert state_texts(net, "day") == [f"before {first}", f"{first} to {before}", f"{last} and later"]
    assert net.query("day", {"warm": True}).index.tolist() == state_texts(net, "day")


def test_dates_can_be_given(net: jaxbn.BayesNet) -> None:
    summer = net.query("warm", {"day": ("2020-06-01", "2020-08-31")})
    assert summer[True] > 0.9
    for day in ("2020-07-14", "14.07.2020", pd.Timestamp("2020-07-14"), np.datetime64("2020-07-14")):
        assert net.query("warm", {"day": day}).equals(net.query("warm", {"day": "2020-07-14"}))
    assert net.query("warm", {"late": pd.Timedelta(seconds=90)})[True] > 0.9
    with pytest.raises(ValueError, match="holds 'soon', which is not a date"):
        net.query("warm", {"day": "soon"})


def test_rows_keep_their_types(net: jaxbn.BayesNet, frame: pd.DataFrame) -> None:
    drawn = net.sample(500)
    assert [drawn[name].dtype.kind for name in drawn] == ["M", "b", "m"]
    assert (drawn["day"].dt.normalize() == drawn["day"]).all()
    assert drawn["day"].between(frame["day"].min(), frame["day"].max()).all()
    holed = frame.copy()
    holed.loc[3, "day"] = None
    holed.loc[4, "late"] = None
    filled = net.impute(holed)
    assert filled.dtypes.equals(frame.dtypes)
    assert filled.notna().all().all()
    assert net.predict(frame, "day", returns="mean").dtype.kind == "M"
    np.testing.assert_allclose(net.log_likelihood(frame), net.log_likelihood(frame.assign(day=frame["day"].dt.date)))


def test_text_is_imputed_as_it_is_written(frame: pd.DataFrame) -> None:
    data = frame.assign(day=frame["day"].dt.strftime("%d.%m.%Y"))[["day", "warm"]]
    net = jaxbn.fit(data, {"day": ["warm"]})
    assert net.binnings["day"].unit == Unit("date", "%d.%m.%Y")
    filled = net.impute(data.assign(day=data["day"].where(data.index != 3, None)))
    assert pd.to_datetime(filled["day"], format="%d.%m.%Y").notna().all()


def test_files_and_pages_keep_dates(net: jaxbn.BayesNet, frame: pd.DataFrame, tmp_path: Path) -> None:
    net.save(tmp_path / "net.json")
    assert jaxbn.load(tmp_path / "net.json") == net
    net.to_bif(tmp_path / "net.bif")
    assert jaxbn.read_bif(tmp_path / "net.bif").binnings["day"].unit == Unit("date")
    assert cuts_in_words(net, "day") in report(net, jaxbn.as_table(frame))


def test_parts_are_made_of_new_rows(frame: pd.DataFrame) -> None:
    net = jaxbn.learn(jaxbn.as_table(frame[["day", "warm"]], date_parts=["month"]), **in_objects(OPTIONS))
    assert "day (month)" in net.names
    assert np.isfinite(net.log_likelihood(frame)).all()


def test_days_and_months_are_told_apart_by_the_form_of_the_network() -> None:
    days = pd.date_range("2020-01-01", periods=12).strftime("%d/%m/%Y")
    frame = pd.DataFrame({"day": [*days] * 5, "even": [i % 2 == 0 for i in range(60)]})
    table = jaxbn.as_table(frame, dates="%d/%m/%Y", date_parts=["weekday"])
    net = jaxbn.learn(table, **in_objects(OPTIONS))
    np.testing.assert_array_equal(net.log_likelihood(frame.assign(**{"day (weekday)": None})) < 0, True)
    own = jaxbn.fit(frame, {"even": ["day"]}, {"day": net.binnings["day"]})
    assert own.binnings["day"].unit == Unit("date", "%d/%m/%Y")
    assert "2020-01-" in report(own, frame)
    assert jaxbn.discretize(table, {"even": ["day"]}).transform(frame)["day"].notna().all()


def test_rows_without_a_date_are_scored(net: jaxbn.BayesNet, frame: pd.DataFrame) -> None:
    """A column of None alone is one of objects, not of dates: the rows of each pattern of holes are such a table."""
    holed = frame.copy()
    holed.loc[:9, "day"] = None
    holed.loc[5:14, "late"] = None
    found = net.score_samples(holed, simulations=50)
    assert (found.shares["day"][:10] == 0).all()
    np.testing.assert_allclose(found.log_density, net.log_likelihood(holed))
    assert (net.log_likelihood(frame.assign(day=None)) == net.log_likelihood(frame.assign(day=pd.NaT))).all()
