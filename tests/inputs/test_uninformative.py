"""Columns from which nothing can be learned: which are left out, which stay."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from jaxbn.inputs.table import as_table

ROWS = 60
RNG = np.random.default_rng(0)
USEFUL = {
    "size": RNG.normal(size=ROWS),
    "kind": RNG.choice(["a", "b"], ROWS),
    "count": RNG.integers(0, 30, ROWS),
    "income": RNG.permutation(ROWS) * 37,
    "half": np.where(RNG.random(ROWS) < 0.5, np.nan, RNG.normal(size=ROWS)),
}
LITTLE = {
    "code": ([f"k{i}" for i in range(ROWS)], "which has a different value in each row"),
    "row": (RNG.permutation(ROWS), "which has a different value in each row"),
    "customer_id": (RNG.permutation(ROWS) * 37, "which has a different value in each row"),
    "note": ([f"text {i // 1.5}" for i in range(ROWS)], "text with 40 different values in 60 rows"),
    "year": (np.full(ROWS, 2024), "which has the same value in every row"),
    "again": (USEFUL["size"], "a copy of 'size'"),
    "again too": (USEFUL["kind"], "a copy of 'kind'"),
    "nothing": ([None] * ROWS, "which has no value in any row"),
    "comment": (["x", "y"] * 3 + [None] * (ROWS - 6), "90 % of which is missing"),
}


@pytest.mark.parametrize("name", LITTLE)
def test_what_says_little_is_left_out_and_kept_on_request(name: str, caplog: pytest.LogCaptureFixture) -> None:
    column, reason = LITTLE[name]
    data = pd.DataFrame(USEFUL | {name: column})
    assert as_table(data, missing="infer", keep=()).names == tuple(USEFUL)
    assert f"left out: {name!r}, {reason}" in caplog.text
    caplog.clear()
    if name == "nothing":
        return
    assert as_table(data, missing="infer", keep=[name]).names == (*USEFUL, name)
    assert "left out" not in caplog.text


def test_columns_that_only_begin_alike_are_kept(caplog: pytest.LogCaptureFixture) -> None:
    """Columns are first compared by their first entries."""
    one = np.random.default_rng(0).normal(size=1200)
    other = np.where(np.arange(1200) < 1100, one, one + 1)
    table = as_table(pd.DataFrame({"one": one, "other": other, "again": other}), missing="infer", keep=())
    assert table.names == ("one", "other")
    assert "left out: 'again', a copy of 'other'" in caplog.text


def test_all_is_kept_in_short_tables_and_where_nothing_would_be_left() -> None:
    data = pd.DataFrame({name: column for name, (column, _) in LITTLE.items() if name != "nothing"} | {"a": "x"})
    assert as_table(data.iloc[:9], missing="infer", keep=()).names == tuple(data.columns)
    assert as_table({"a": ["x"] * 30, "b": [1] * 30}, keep=()).names == ("a", "b")


def test_missing_entries_that_are_a_state_say_something() -> None:
    data = pd.DataFrame(USEFUL | {"comment": LITTLE["comment"][0]})
    assert "comment" in as_table(data, missing="state", keep=()).names


def test_many_columns_with_the_same_reason_share_a_line(caplog: pytest.LogCaptureFixture) -> None:
    """A table of weeks had 55 lines of this kind."""
    weeks = {f"week {i}": [1.5] * (i % 5 + 1) + [None] * (ROWS - i % 5 - 1) for i in range(20)}
    empty = {f"none {i}": [None] * ROWS for i in range(5)}
    same = {f"same {i}": [i] * ROWS for i in range(4)}
    assert as_table(pd.DataFrame(USEFUL | weeks | empty | same), missing="infer", keep=()).names == tuple(USEFUL)
    lines = [record.getMessage() for record in caplog.records if "left out" in record.getMessage()]
    assert lines == [
        "left out: 'week 0', 'week 1', 'week 2' and 17 more, each of which is missing in more than 80 % of the rows; "
        "pass columns=jaxbn.Columns(keep=['week 0']) to keep that one",
        "left out: 'none 0', 'none 1', 'none 2' and 2 more, each of which has no value in any row",
        "left out: 'same 0', 'same 1', 'same 2' and 1 more, each of which has the same value in every row; "
        "pass columns=jaxbn.Columns(keep=['same 0']) to keep that one",
    ]


def test_numbers_that_are_text_can_stay_as_numbers(caplog: pytest.LogCaptureFixture) -> None:
    """pandas reads prices such as 1,660 as text; left out as text, they could be kept as hundreds of levels alone."""
    prices = [f"{1000 + 7 * i:,}" for i in range(ROWS)]
    data = pd.DataFrame(USEFUL | {"price": prices})
    assert as_table(data, keep=()).names == tuple(USEFUL)
    assert "'price', whose numbers are text; pass columns={'price': 'continuous'} to keep it" in caplog.text
    table = as_table(data, continuous=["price"], keep=())
    assert table.values["price"].tolist() == [1000 + 7 * i for i in range(ROWS)]
