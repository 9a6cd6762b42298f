"""Rows drawn into files: those of ``sample``, in batches, in memory that does not grow with their number."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.model.rows import sampling


@pytest.fixture(scope="module")
def net() -> jaxbn.BayesNet:
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b"], 300)
    rows = {"kind": kind, "size": rng.normal((kind == "a") * 2.0), "up": rng.random(300) < 0.5}
    return jaxbn.fit(rows, {"size": ["kind"]}, {"size": [0.0, 1.0]})


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv"])
def test_a_file_has_the_rows_of_sample(net: jaxbn.BayesNet, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    for asked in (net, jaxbn.AverageNet([net, net])):
        asked.sample_to(path, 50, seed=3)
        found = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
        pd.testing.assert_frame_equal(found, asked.sample(50, 3), check_dtype=False)
    net.sample_to(path, 20, given={"kind": "b"})
    found = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    assert found["kind"].tolist() == ["b"] * 20
    net.sample_to(path, 0)
    empty = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    assert list(empty.columns) == list(net.names)
    assert len(empty) == 0
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv"])
def test_batches_follow_each_other_and_memory_does_not_grow(
    net: jaxbn.BayesNet, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "BATCH", 5_000)
    path, peaks = tmp_path / name, []
    for n in (5_000, 10_000, 60_001):
        tracemalloc.start()
        net.sample_to(path, n, seed=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.2 * peaks[1]
    rng = np.random.default_rng(1)
    expected = pd.concat([net.sample(min(5_000, 60_001 - i), rng) for i in range(0, 60_001, 5_000)], ignore_index=True)
    found = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_a_file_that_fails_is_not_left_behind(net: jaxbn.BayesNet, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="kind"):
        net.sample_to(tmp_path / "rows.csv", 5, given={"kind": "c"})
    assert list(tmp_path.iterdir()) == []
