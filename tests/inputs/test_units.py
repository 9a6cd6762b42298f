"""Dates and durations as numbers and back again."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest

from jaxbn.inputs.table import as_table
from jaxbn.inputs.units import Unit, from_numbers, texts, to_number, to_numbers, unit_of

DAYS = pd.Series(pd.to_datetime(["2020-02-29", "1969-12-30", None, "2021-07-14"]))
TIMES = DAYS + pd.to_timedelta([3661, 0.25, 1, 86399], "s")
DURATIONS = pd.Series(pd.to_timedelta([90, None, -5, 90061.5], "s"))


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (DAYS, "date"),
        (DAYS.dt.tz_localize("Europe/Paris"), "date"),
        (DAYS.dt.date.where(DAYS.notna(), None), "date"),
        (DAYS.dt.to_period("D"), "date"),
        (TIMES, "datetime"),
        (DURATIONS, "duration"),
        (pd.Series([datetime.time(1, 30), None, datetime.time(2)], dtype=object), "duration"),
    ],
    ids=["days", "zone", "objects", "periods", "times", "durations", "times of day"],
)
def test_every_type_of_date_is_known(column: pd.Series, kind: str) -> None:
    unit = unit_of("x", column)
    assert unit == Unit(kind)
    numbers = to_numbers("x", column, unit)
    np.testing.assert_array_equal(np.isnan(numbers), column.isna())
    np.testing.assert_array_equal(to_numbers("x", pd.Series(from_numbers(numbers, unit)), unit), numbers)


@pytest.mark.parametrize(
    "form",
    ["%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d %b %Y", "%B %d, %Y", "%Y-%m-%dT%H:%M:%S"],
)
def test_text_that_is_a_date_is_known(form: str) -> None:
    unit = unit_of("x", DAYS.dt.strftime(form))
    assert unit == Unit("date", form)
    np.testing.assert_array_equal(to_numbers("x", DAYS.dt.strftime(form), unit), to_numbers("x", DAYS, Unit("date")))


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["2024-01-01 07:20:42", "2024-01-01 07:20:42.25"], "%Y-%m-%d %H:%M:%S.%f"),
        (["2024-01-01 07:20:42+01:00", "2024-07-01 07:20:42+02:00"], "%Y-%m-%d %H:%M:%S"),
        (["2024-01-01 07:20:42.5+00:00", "2024-01-01 07:20:43+00:00"], "%Y-%m-%d %H:%M:%S.%f"),
        (["2024-01-01T07:20:42.337Z", "2024-01-01T07:20:43Z"], "%Y-%m-%dT%H:%M:%S.%fZ"),
        (["2024-01-01 07:20:42 UTC", "2024-01-01 07:20:43 UTC"], "%Y-%m-%d %H:%M:%S"),
        (["2024-01-01T07:20", "2024-01-01T19:20"], "%Y-%m-%dT%H:%M"),
        (["01/31/2024 07:20:42 AM", "01/31/2024 07:20:42 PM"], "%m/%d/%Y %I:%M:%S %p"),
        (["2024.01.31", "2024.02.01"], "%Y.%m.%d"),
    ],
)
def test_moments_as_other_programs_write_them(texts: list[str], form: str) -> None:
    """With a fraction that is left out where it is zero, and in a time zone: the time on the clock there."""
    column = pd.Series([*texts, None])
    unit = unit_of("x", column)
    assert unit.form == form
    clock = pd.Series([pd.Timestamp(text).tz_localize(None) for text in texts] + [pd.NaT])
    np.testing.assert_array_equal(to_numbers("x", column, unit), to_numbers("x", clock, Unit(unit.kind)))


@pytest.mark.parametrize(
    "column", [["a", "b"], ["1.5", "2"], ["2020", "2021"], ["2020-01-01", "never"], ["12-13", "5"]]
)
def test_other_text_is_not(column: list[str]) -> None:
    assert unit_of("x", pd.Series(column)) == Unit()


def test_days_and_months_that_cannot_be_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    data = {"day": ["01/02/2020", "03/04/2020"], "x": [0.5, 1.5]}
    assert as_table(data).discrete == ("day",)
    assert "column 'day' may hold dates, but as '%m/%d/%Y' or '%d/%m/%Y' they differ; name the form" in caplog.text
    assert as_table(data, dates="%d/%m/%Y").content("day") == "2020-02-01 to 2020-04-03, 2 distinct"
    assert as_table(data, dates={"day": "%m/%d/%Y"}).content("day") == "2020-01-02 to 2020-03-04, 2 distinct"
    with pytest.raises(ValueError, match=r"dates has the form '%d.%m.%Y' for 'day', which holds '01/02/2020'"):
        as_table(data, dates={"day": "%d.%m.%Y"})


def test_durations_in_text() -> None:
    column = pd.Series(["0:30", "1:00:00", "2 days 01:00:00", None])
    assert to_numbers("x", column, unit_of("x", column)).tolist()[:3] == [1800.0, 3600.0, 176400.0]


def test_dates_that_are_named_discrete_are_levels() -> None:
    table = as_table({"day": DAYS.dropna(), "x": [0.5, 1.5, 2.5]}, discrete=["day"])
    assert table.levels["day"] == ("1969-12-30", "2020-02-29", "2021-07-14")


def test_a_cut_is_the_first_day_of_its_bin() -> None:
    assert texts([18320.5, 18321.0], Unit("date")) == ["2020-02-29", "2020-02-29"]
    moment = to_number("x", "2020-02-29 10:20:30", Unit("datetime"))
    assert texts([moment], Unit("datetime"), [0.0]) == ["2020-02-29 10:20:30"]
    assert texts([moment], Unit("datetime"), [100.0]) == ["2020-02-29 10:20"]
    assert texts([moment], Unit("datetime"), [1e5]) == ["2020-02-29"]


def test_parts_of_dates() -> None:
    table = as_table({"day": DAYS, "x": [0.5, 1.5, 2.5, 3.5]}, date_parts=["month", "weekday"], missing="infer")
    assert table.levels["day (month)"] == ("February", "July", "December")
    assert table.levels["day (weekday)"] == ("Tuesday", "Wednesday", "Saturday")
    assert table.codes["day (month)"].tolist() == [0, 2, -1, 1]
    hours = as_table({"day": TIMES, "x": [0.5, 1.5, 2.5, 3.5]}, date_parts={"day": ["hour"]}, missing="infer")
    assert hours.levels["day (hour)"] == (0, 1, 23)
    with pytest.raises(ValueError, match="date_parts names 'x', which does not hold dates"):
        as_table({"day": DAYS, "x": [0.5, 1.5, 2.5, 3.5]}, date_parts={"x": ["month"]}, missing="infer")
