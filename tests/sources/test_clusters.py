"""The same rows on several processes: Dask, Spark and jax.distributed give the counts and networks of one process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.dataset
import pytest

import jaxbn
from jaxbn.learning import large
from jaxbn.sources.counting import Coded, Counting
from jaxbn.sources.source import as_source
from tests.helpers import killing
from tests.helpers.killing import KillOnce
from tests.helpers.shared_runs import free_port

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
OPTIONS: dict[str, Any] = {"max_parents": 1, "restarts": 1, "progress": False}
N = 3000

SHARD = """
import sys
import jax, numpy as np, pandas as pd, pyarrow as pa, pyarrow.dataset as ds
rank, port, path = int(sys.argv[1]), sys.argv[2], sys.argv[3]
jax.distributed.initialize(f"127.0.0.1:{port}", 2, rank)
import jaxbn
from jaxbn.learning import large
large.SAMPLE = int(sys.argv[4])
frame = pd.read_parquet(path)
own = frame.iloc[: 1000] if rank == 0 else frame.iloc[1000 :]
data = ds.dataset(pa.Table.from_pandas(own, preserve_index=False))
net = jaxbn.learn(data, max_parents=1, restarts=1, progress=False)
net.save(f"{path}.{rank}.json")
"""


def table(n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kind = rng.choice(["u", "v", "w"], n, p=[0.5, 0.3, 0.2])
    x = rng.normal((kind == "u") * 2.0, 1.0)
    return pd.DataFrame({"kind": kind, "stars": rng.integers(1, 4, n), "x": x, "y": x + rng.normal(size=n)})


def in_memory(frame: pd.DataFrame) -> Any:
    return pyarrow.dataset.dataset(pyarrow.Table.from_pandas(frame, preserve_index=False))


def counting() -> Counting:
    coded = [Coded("x", np.array([0.0, 1.0])), Coded("kind", levels=("u", "v", "w"))]
    return Counting.of_requests([coded, coded[:1]])


def check(frame: pd.DataFrame, data: Any, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Counts, a network whose sample is the whole table, tables of all rows, and the same with a process killed."""
    expected = as_source(in_memory(frame)).ask(counting())  # type: ignore[union-attr]
    source = as_source(data)
    assert source is not None
    for task in (counting(), KillOnce(counting(), str(folder / "killed once"), os.getpid())):
        for found, counts in zip(source.ask(task), expected, strict=True):
            np.testing.assert_array_equal(found, counts)
    assert (folder / "killed once").exists()
    assert jaxbn.learn(data, **OPTIONS) == jaxbn.learn(frame, **OPTIONS)
    monkeypatch.setattr(large, "SAMPLE", 600)
    net = jaxbn.learn(data, **OPTIONS)
    fitted = jaxbn.fit(frame, net.parents, net.codings, alpha="auto")
    for name in net.names:
        np.testing.assert_array_equal(net.tables[name], fitted.tables[name])
    count, flag = Counting.of_requests, folder / "killed in learning"
    monkeypatch.setattr(
        Counting, "of_requests", lambda *given, **more: KillOnce(count(*given, **more), str(flag), os.getpid())
    )
    monkeypatch.setattr(KillOnce, "n_bytes", 0, raising=False)
    again = jaxbn.learn(data, **OPTIONS)
    assert flag.exists()
    assert again == net


def test_dask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    dataframe, distributed = pytest.importorskip("dask.dataframe"), pytest.importorskip("distributed")
    frame = table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of workers that are killed
        options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
            check(frame, dataframe.from_pandas(frame, npartitions=4), monkeypatch, tmp_path)


@pytest.fixture
def spark() -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = sql.SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    session = session.config("spark.executorEnv.PYTHONPATH", str(ROOT)).getOrCreate()
    yield session
    session.stop()


@pytest.mark.filterwarnings("ignore")  # those of Spark and of its sockets
def test_spark(spark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    frame = table()
    frame.to_parquet(tmp_path / "rows.parquet", index=False)
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    cloudpickle.register_pickle_by_value(killing)  # workers have no tests
    check(frame, spark.read.parquet(str(tmp_path / "rows.parquet")), monkeypatch, tmp_path)


@pytest.mark.parametrize("sample", [10_000, 600])
def test_a_shard_of_the_rows_in_each_of_two_processes(sample: int, tmp_path: Path) -> None:
    frame, path, port = table(), tmp_path / "rows.parquet", str(free_port())
    frame.to_parquet(path, index=False)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SHARD]
    both = [
        subprocess.Popen([*command, rank, port, str(path), str(sample)], env=environment, stderr=subprocess.PIPE)
        for rank in ("0", "1")
    ]
    for process in both:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors.decode()[-2000:]
    nets = [jaxbn.load(f"{path}.{rank}.json") for rank in (0, 1)]
    assert nets[0] == nets[1]
    assert nets[0].n_rows == N
    if sample > N:
        whole = jaxbn.learn(frame, **OPTIONS)
        assert (nets[0].parents, nets[0].binnings) == (whole.parents, whole.binnings)
    fitted = jaxbn.fit(frame, nets[0].parents, nets[0].codings, alpha="auto")
    assert json.dumps({n: t.tolist() for n, t in nets[0].tables.items()}) == json.dumps(
        {n: t.tolist() for n, t in fitted.tables.items()}
    )
