"""The same rows from every engine on one machine: the same counts, tables and networks as in memory."""

from __future__ import annotations

import _thread
import threading
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest

import jaxbn
from jaxbn.cuts.methods import ARC_GAIN
from jaxbn.inputs.table import as_frame, as_table
from jaxbn.learning import large
from jaxbn.learning.all_rows import NEAR, best_of_families, expected_score, near_families
from jaxbn.learning.options import in_objects
from jaxbn.scores.coded_table import CodedTable
from jaxbn.scores.evidence import ARC_CHARGE, EvidenceCache, arc_charge
from jaxbn.sources.counting import Coded, Counting
from jaxbn.sources.source import as_source
from jaxbn.sources.survey import KEPT, Survey, threshold
from jaxbn.structure.constraints import Rules
from tests.reference.rows import best_structure, count_rows

ENGINES = ("dataset", "reader", "duckdb", "polars", "folder")
OPTIONS: dict[str, Any] = {"max_parents": 1, "restarts": 1, "progress": False}


def table(n: int, seed: int = 0, holes: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    kind = rng.choice(["u", "v", "w"], n, p=[0.5, 0.3, 0.2])
    x = rng.normal((kind == "u") * 2.0, 1.0)
    frame = pd.DataFrame({"kind": kind, "stars": rng.integers(1, 4, n), "x": x, "y": x + rng.normal(size=n)})
    if holes:
        frame.loc[rng.random(n) < holes, "y"] = np.nan
        frame.loc[rng.random(n) < holes, "kind"] = None
    return frame


def engine(name: str, frame: pd.DataFrame, folder: Path) -> Any:
    arrow = pyarrow.Table.from_pandas(frame, preserve_index=False)
    if name == "dataset":
        return pyarrow.dataset.dataset(arrow)
    if name == "reader":
        return lambda: arrow.to_reader(max_chunksize=77)
    if name == "duckdb":
        return duckdb.from_arrow(arrow)
    if name == "polars":
        return polars.from_arrow(arrow).lazy()
    for i, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[part].to_parquet(folder / f"{i}.parquet", index=False)
    return pyarrow.dataset.dataset(folder)


@pytest.fixture
def small_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "SAMPLE", 600)


@pytest.mark.parametrize("name", ENGINES)
def test_counts_are_those_of_the_definition(name: str, tmp_path: Path) -> None:
    frame = table(500, holes=0.1)
    cuts, levels = np.array([-0.5, 0.25, 1.0]), ("u", "v", "w")
    coded = {"x": Coded("x", cuts), "y": Coded("y", cuts[:1]), "kind": Coded("kind", levels=levels)}
    requests = [("x",), ("kind", "y"), ("x", "kind", "y")]
    source = as_source(engine(name, frame, tmp_path))
    assert source is not None
    assert source.n_rows() == 500
    found = source.ask(Counting.of_requests([[coded[n] for n in request] for request in requests]))
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    for request, counts in zip(requests, found, strict=True):
        codings = [(n, levels, "levels") if n == "kind" else (n, coded[n].cuts, "cuts") for n in request]
        assert {tuple(map(int, at)): int(counts[at]) for at in zip(*np.nonzero(counts), strict=True)} == count_rows(
            rows, codings
        )


def test_grouped_levels_and_levels_of_no_group() -> None:
    coded = Coded("c", levels=("a", "b"), groups=np.array([0, 1, 1], np.int32))  # others join the second group
    source = as_source(lambda: pyarrow.table({"c": ["a", "b", "z", None]}).to_reader())
    assert source is not None
    assert source.ask(Counting.of_requests([[coded]]))[0].tolist() == [1, 2, 1]


@pytest.mark.parametrize("name", ENGINES)
def test_a_sample_of_all_rows_gives_the_network_of_the_table(name: str, tmp_path: Path) -> None:
    frame = table(500)
    assert jaxbn.learn(engine(name, frame, tmp_path), **in_objects(OPTIONS)) == jaxbn.learn(
        frame, **in_objects(OPTIONS)
    )


@pytest.mark.usefixtures("small_sample")
def test_tables_are_those_of_all_rows_and_every_pass_raises_the_evidence() -> None:
    frame = table(3000)
    options = OPTIONS | {"method": jaxbn.Evidence(shape="flat")}  # other shapes are those of the sample
    net = jaxbn.learn(engine("dataset", frame, Path()), **in_objects(options))
    assert net.search is not None
    assert net.search.rows == 3000
    assert 500 < (net.search.sample or 0) < 700
    assert net.n_rows == 3000
    assert list(net.trace) == sorted(net.trace)
    assert net.trace[-1] == net.search.criterion
    fitted = jaxbn.fit(frame, net.parents, net.codings, alpha="auto")
    for each in net.names:
        np.testing.assert_array_equal(net.tables[each], fitted.tables[each])
        np.testing.assert_array_equal(net.counts[each], fitted.counts[each])
    assert net.score == fitted.score
    assert net.bounds == fitted.bounds
    assert "came near" in str(net.search)
    assert "3,000 rows" in str(net.search)
    data = CodedTable(as_table(frame), flat=True)
    cache = EvidenceCache(data, arc_charge(len(frame), True, ARC_GAIN))
    assert net.trace[-1] == pytest.approx(cache.evidence(net.parents, *data.recoded(net.codings)), abs=1e-6)
    whole = jaxbn.learn(frame, **in_objects(options))
    assert {frozenset(arc) for arc in net.arcs} == {frozenset(arc) for arc in whole.arcs}
    assert net.search.criterion > whole.search.criterion - 0.015 * len(frame)  # cuts lie between values of the sample


@pytest.mark.usefixtures("small_sample")
def test_levels_that_only_other_rows_have_are_known() -> None:
    frame = table(3000)
    frame.loc[[1500], "kind"] = "rare"
    net = jaxbn.learn(engine("duckdb", frame, Path()), **in_objects(OPTIONS))
    assert net.levels["kind"] == ("rare", "u", "v", "w")
    assert net.counts["kind"].sum() == 3000


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("missing", ["infer", "drop", "state"])
def test_missing_entries(missing: Any) -> None:
    frame = table(2500, holes=0.1)
    net = jaxbn.learn(engine("polars", frame, Path()), **in_objects({"missing": missing, **OPTIONS}))
    whole = jaxbn.fit(frame, net.parents, net.codings, missing="drop", alpha="auto") if missing == "drop" else None
    for name in net.names:
        if whole is not None:
            np.testing.assert_array_equal(net.counts[name], whole.counts[name])
        else:
            assert net.counts[name].sum() == pytest.approx(2500)
    with pytest.raises(ValueError, match="missing"):
        jaxbn.learn(engine("polars", frame, Path()), **in_objects({"missing": "error", **OPTIONS}))


def test_a_sample_is_reproducible_and_of_the_wanted_size() -> None:
    frame = pd.DataFrame({"x": np.arange(20_000.0), "whole": np.arange(20_000) % 7})
    source = as_source(engine("reader", frame, Path()))
    assert source is not None
    first, again, other = (source.ask(Survey(threshold(20_000, 2000), seed)) for seed in (1, 1, 2))
    assert first.sample().equals(again.sample())
    assert not first.sample().equals(other.sample())
    assert 1800 < first.n_sampled < 2200
    assert first.n_rows == 20_000
    assert first.sample()["x"].is_monotonic_increasing
    assert first.columns["whole"].n_distinct == 7
    assert first.columns["whole"].levels == frozenset(range(7))
    assert abs(first.columns["x"].n_distinct / 20_000 - 1) < 4 / KEPT**0.5
    assert (first.columns["x"].low, first.columns["x"].high) == (0.0, 19_999.0)


@pytest.mark.usefixtures("small_sample")
def test_finished_passes_are_kept(tmp_path: Path) -> None:
    frame, path = table(2500), tmp_path / "kept.json"
    source, calls = engine("dataset", frame, tmp_path), []

    def counted() -> Any:
        calls.append(1)
        return source.to_batches()

    first = jaxbn.learn(counted, **in_objects({"checkpoint": path, **OPTIONS}))
    n_first = len(calls)
    calls.clear()
    again = jaxbn.learn(counted, **in_objects({"checkpoint": path, **OPTIONS}))
    assert again == first
    assert len(calls) < n_first


@pytest.mark.usefixtures("small_sample")
def test_ctrl_c_in_a_pass_gives_the_best_so_far() -> None:
    frame, passes, unbroken = table(2500), [], []

    def batches() -> Any:
        passes.append(1)
        if len(passes) == len(unbroken):  # in the last pass, when rows have been counted for the evidence
            threading.Timer(0.0, _thread.interrupt_main).start()
            threading.Event().wait(0.5)
        return pyarrow.Table.from_pandas(frame, preserve_index=False).to_reader(max_chunksize=100)

    jaxbn.learn(batches, **in_objects(OPTIONS))
    unbroken, passes = passes, []
    assert len(unbroken) > 2
    with pytest.warns(jaxbn.InterruptedWarning):
        net = jaxbn.learn(batches, **in_objects(OPTIONS))
    assert net.search is not None
    assert not net.search.finished
    assert net.n_rows == 2500  # the tables are those of the pass before


def test_families_that_come_near() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, 1000), rng.integers(0, 2, 1000)
    weak = np.where(rng.random(1000) < 0.54, a, b)
    data = CodedTable(as_table({"a": a, "b": b, "weak": weak, "noise": rng.integers(0, 2, 1000)}))
    columns = data.start(2).columns
    nothing: dict[str, tuple[str, ...]] = dict.fromkeys(data.names, ())
    free = Rules(data.names, 2, {}, frozenset({("noise", "weak")}))
    near = near_families(nothing, columns, free, 10**6, ARC_CHARGE, 0.5)
    values = {p: expected_score("weak", p, columns, 10**6, ARC_CHARGE, {}, 0.5) for p in [(), ("a",), ("b",)]}
    best = max(values.values())
    assert near["weak"] == [
        (),
        *(p for p in sorted(values, key=lambda p: -values[p]) if p and values[p] >= best - NEAR),
    ]
    # a weak parent is worth more on a million rows than on a thousand: its likelihood grows, its price hardly
    small = [expected_score("weak", p, columns, 1000, True, {}, 0.5) for p in ((), ("a",))]
    assert values["a",] - values[()] > small[1] - small[0]


def test_families_come_near_by_what_is_known_of_their_links() -> None:
    rng = np.random.default_rng(0)
    data = CodedTable(as_table({name: rng.integers(0, 2, 500) for name in "abc"}))
    nothing: dict[str, tuple[str, ...]] = dict.fromkeys(data.names, ())
    links = {frozenset("ab"): 2 * NEAR, frozenset("ac"): -2 * NEAR}  # all but sure, and all but out of the question
    rules = Rules(data.names, 2, {}, frozenset(), links=links)
    near = near_families(nothing, data.start(2).columns, rules, 500, True, 0.5)
    assert near["a"] == [(), ("b",)]
    assert ("a",) not in near["c"]


@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_some_families_is_that_of_all_choices(seed: int) -> None:
    rng, names = np.random.default_rng(seed), "abcde"
    families: dict[str, dict[tuple[str, ...], float]] = {}
    for name in names:
        others = [other for other in names if other != name]
        sets = [(), *((o,) for o in others), *(tuple(rng.choice(others, 2, replace=False)) for _ in range(3))]
        families[name] = {some: float(rng.normal() + len(some)) for some in sets}
    found = best_of_families(families)
    assert sum(families[n][found[n]] for n in names) == pytest.approx(best_structure(families))


def test_a_source_of_no_rows_says_so() -> None:
    net = jaxbn.fit(table(50), {"x": ["kind"]}, {"x": [0.0], "y": [0.0]})
    with pytest.raises(ValueError, match="the source has no rows"):
        net.log_likelihood(engine("reader", table(50).head(0), Path()))


def test_what_is_no_source() -> None:
    reader = pyarrow.table({"x": [1.0]}).to_reader()
    with pytest.raises(TypeError, match="pass a function"):
        as_source(reader)
    assert as_source(pd.DataFrame({"x": [1.0]})) is None
    assert as_source("nothing.parquet") is None


def test_a_file_that_is_too_large_is_read_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = table(2000)
    frame.to_parquet(tmp_path / "rows.parquet", index=False)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    assert as_source(tmp_path / "rows.parquet") is None
    monkeypatch.setenv("JAXBN_MAX_MEMORY", str(10**6))
    for name in ("rows.parquet", "rows.csv"):
        source = as_source(tmp_path / name)
        assert source is not None
        assert source.ask(Survey()).sample().equals(frame)


@pytest.mark.parametrize("name", ["reader", "duckdb", "polars"])
def test_answers_about_rows_come_in_batches_as_the_engine_has_them(name: str) -> None:
    frame = table(200, holes=0.2)
    net = jaxbn.fit(frame.dropna(), {"y": ["x"], "x": ["kind"]}, {"x": [0.0, 1.0], "y": [1.0]})
    data = engine(name, frame, Path())
    kind = {"reader": "RecordBatchReader", "duckdb": "DuckDBPyRelation", "polars": "LazyFrame"}[name]

    def rows(found: Any) -> pd.DataFrame:
        assert type(found).__name__ == kind
        return {"reader": lambda: found.read_pandas(), "duckdb": lambda: found.df(), "polars": lambda: _pandas(found)}[
            name
        ]()

    found = rows(net.log_likelihood(data))["log_likelihood"]
    np.testing.assert_allclose(found, net.log_likelihood(frame), rtol=1e-12)
    assert rows(net.predict(data, "kind"))["kind"].tolist() == net.predict(frame, "kind").tolist()
    np.testing.assert_allclose(
        rows(net.predict(data, "x", returns="mean"))["x"], net.predict(frame, "x", returns="mean")
    )
    assert rows(net.impute(data))["kind"].tolist() == net.impute(frame)["kind"].tolist()
    np.testing.assert_allclose(rows(net.predict_proba(data, "kind")).to_numpy(), net.predict_proba(frame, "kind"))


def _pandas(lazy: Any) -> pd.DataFrame:
    return lazy.collect().to_pandas()


@pytest.mark.usefixtures("small_sample")
def test_fit_and_discretize() -> None:
    frame, graph = table(2500), {"x": ["kind"], "y": ["x"]}
    data = engine("dataset", frame, Path())
    cuts = {"x": [0.0, 1.0], "y": [1.0]}
    found, expected = (jaxbn.fit(each, graph, cuts, lines=False) for each in (data, frame))
    assert found == expected
    whole = jaxbn.discretize(frame, graph, method=jaxbn.Evidence(shape="flat"))
    cut = jaxbn.discretize(data, graph, method=jaxbn.Evidence(shape="flat"))
    assert cut.trace[-1] >= cut.trace[0]
    assert cut.trace[-1] > whole.trace[-1] - 0.015 * len(frame)
    assert jaxbn.fit(data, graph).n_rows == 2500


def test_frames_of_every_library_give_the_same_network() -> None:
    frame = table(400)
    frame["size"] = pd.Categorical(np.where(frame["x"] > 1, "large", "small"), categories=["small", "large"])
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(400) % 50, unit="D")
    frame["count"] = np.where(frame["stars"] > 1, np.arange(400) % 30, np.nan)
    expected = jaxbn.learn(frame, **OPTIONS)
    arrow = pyarrow.Table.from_pandas(frame, preserve_index=False)
    for other in (arrow, polars.from_arrow(arrow)):
        assert jaxbn.learn(other, **OPTIONS) == expected
    texts = frame.astype({"size": object})  # DuckDB keeps no order of categories
    assert jaxbn.learn(duckdb.from_arrow(arrow), **OPTIONS) == jaxbn.learn(texts, **OPTIONS)
    held = polars.from_arrow(arrow)
    shared = as_frame(held)["x"].to_numpy()
    assert np.shares_memory(shared, held["x"].to_numpy())
    cut = jaxbn.discretize(held, {"y": ["x"]})
    assert isinstance(cut.transform(held), polars.DataFrame)
    assert isinstance(expected.impute(held), polars.DataFrame)
    assert isinstance(expected.impute(arrow), pyarrow.Table)
    assert expected.impute(held)["count"].null_count() == 0


@pytest.mark.usefixtures("small_sample")
def test_cross_validation_by_a_hash_of_rows() -> None:
    frame, graph = table(2500), {"x": ["kind"], "y": ["x"]}
    found = jaxbn.cross_validate(engine("dataset", frame, Path()), graph, folds=3)
    assert len(found.log_likelihood) == 2500
    assert (np.bincount(found.folds) > 700).all()
    assert found.mean == pytest.approx(jaxbn.cross_validate(frame, graph, folds=3, progress=False).mean, abs=0.1)
    with pytest.raises(ValueError, match="given"):
        jaxbn.cross_validate(engine("dataset", frame, Path()), graph, given="kind")


def test_every_kind_of_dataset_has_its_rows_in_their_order(tmp_path: Path) -> None:
    frame, parquet = table(900), pyarrow.dataset.ParquetFileFormat()
    whole = pyarrow.Table.from_pandas(frame, preserve_index=False)
    pyarrow.parquet.write_table(whole, tmp_path / "a.parquet", row_group_size=100)
    plain = pyarrow.dataset.dataset(tmp_path / "a.parquet")
    (fragment,) = plain.get_fragments()
    some = fragment.subset(row_group_ids=[2, 5])
    floats = whole.schema.set(1, pyarrow.field("stars", pyarrow.float64()))
    by_kind: Any = {"partitioning": ["kind"], "partitioning_flavor": "hive"}
    pyarrow.dataset.write_dataset(whole, tmp_path / "hive", format=parquet, **by_kind)
    kinds: dict[str, tuple[Any, pd.DataFrame]] = {
        "plain": (plain, frame),
        "groups of rows": (
            pyarrow.dataset.FileSystemDataset([some], plain.schema, parquet, fragment.filesystem),
            frame.iloc[[*range(200, 300), *range(500, 600)]].reset_index(drop=True),
        ),
        "filtered": (
            plain.filter(pyarrow.dataset.field("kind") == "u"),
            frame[frame["kind"] == "u"].reset_index(drop=True),
        ),
        "another type": (
            pyarrow.dataset.dataset(tmp_path / "a.parquet", schema=floats),
            frame.astype({"stars": float}),
        ),
        "partitions": (
            pyarrow.dataset.dataset(tmp_path / "hive", partitioning="hive"),
            frame.sort_values("kind", kind="stable", ignore_index=True)[["stars", "x", "y", "kind"]],
        ),
    }
    for name, (data, expected) in kinds.items():
        found = pyarrow.Table.from_batches(list(as_source(data).batches())).to_pandas()
        pd.testing.assert_frame_equal(found, expected, check_dtype=False, obj=name)


def test_a_pass_does_not_hold_whole_groups_of_rows(tmp_path: Path) -> None:
    whole = pyarrow.table({name: np.arange(2**19) % 10.0 for name in "abcd"})  # much smaller in the file
    pyarrow.parquet.write_table(whole, tmp_path / "a.parquet", row_group_size=2**19)
    size = whole.nbytes
    del whole
    before = pyarrow.total_allocated_bytes()
    source = as_source(pyarrow.dataset.dataset(tmp_path / "a.parquet"))
    held = [pyarrow.total_allocated_bytes() - before for _ in source.batches()]
    assert len(held) == 8
    assert max(held) < size / 2
