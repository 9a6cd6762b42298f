from __future__ import annotations

import csv
import hashlib
import io
import os
import sys
from importlib.resources import files
from pathlib import Path
from urllib.error import URLError

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from jaxbn import datasets
from jaxbn.datasets import _loader

BESIDE = Path(os.environ.get(_loader.DIRECTORY_VARIABLE, "nowhere"))  # data to compare with
PACKAGED = [name for name in datasets.names() if name != "ilpd"]
SHAPES = {
    "auto_mpg": (392, 8),
    "wine": (178, 14),
    "housing": (506, 14),
    "seeds": (210, 8),
    "glass": (214, 10),
    "heart": (270, 14),
    "liver_disorders": (345, 7),
    "ilpd": (579, 11),
    "banknote": (1372, 5),
    "iris": (150, 5),
}
# Levels of the discrete columns; the paper states those of Auto MPG, Wine and Housing.
LEVELS = {
    "auto_mpg": {"cylinders": 5, "model_year": 13, "origin": 3},
    "wine": {"class": 3},
    "housing": {"chas": 2, "rad": 9},
    "seeds": {"class": 3},
    "glass": {"type": 6},
    "heart": {
        "sex": 2,
        "cp": 4,
        "fbs": 2,
        "restecg": 3,
        "exang": 2,
        "slope": 3,
        "ca": 4,
        "thal": 3,
        "class": 2,
    },
    "liver_disorders": {"selector": 2},
    "ilpd": {"gender": 2, "class": 2},
    "banknote": {"class": 2},
    "iris": {"class": 3},
}
# Number of arcs in the source of the paper's figures and in its table (Seeds without G among its own parents).
ARCS = {
    ("auto_mpg", "paper"): 8,
    ("auto_mpg", "paper_learned"): 16,
    ("auto_mpg", "appendix_b"): 11,
    ("wine", "paper"): 19,
    ("wine", "paper_drawn"): 20,
    ("wine", "paper_learned"): 29,
    ("housing", "paper"): 20,
    ("housing", "paper_learned"): 19,
    ("seeds", "paper"): 11,
    ("glass", "paper"): 15,
    ("heart", "paper"): 13,
    ("liver_disorders", "paper"): 8,
    ("ilpd", "paper"): 15,
    ("banknote", "paper"): 7,
    ("iris", "paper"): 4,
}


@pytest.fixture(autouse=True)
def _no_network_no_cache(monkeypatch, tmp_path):
    """ILPD is read where JAXBN_DATA says, and never from the network or the user's cache."""

    def refuse(url, timeout):
        raise URLError("no network in tests")

    monkeypatch.setattr(_loader, "urlopen", refuse)
    monkeypatch.setattr(_loader, "_cache_file", lambda: tmp_path / "cache" / _loader.FILE_NAME)


def load_or_skip(name):
    if name == "ilpd" and not (BESIDE / "ilpd.csv").is_file():
        pytest.skip("ILPD is not in the package, and JAXBN_DATA does not say where it is")
    return datasets.load(name)


def arcs_in_letters(data, structure):
    letter = {column: each for each, column in data.letters.items()}
    return {(letter[p], letter[c]) for c, parents in data.structures[structure].items() for p in parents}


@pytest.mark.parametrize("name", datasets.names())
def test_shape_and_kinds(name):
    data = load_or_skip(name)
    frame = data.frame
    assert frame.shape == SHAPES[name]
    assert not frame.isna().any(axis=None)
    assert data.target in frame
    assert data.source
    assert list(data.letters.values()) == list(frame)
    assert "".join(data.letters) == "ABCDEFGHIJKLMN"[: frame.shape[1]]
    assert all(frame[column].dtype == np.float64 for column in data.continuous)
    discrete = [column for column in frame if column not in data.continuous]
    assert {column: frame[column].nunique() for column in discrete} == LEVELS[name]
    assert not any(pd.api.types.is_float_dtype(frame[column]) for column in discrete)


@pytest.mark.parametrize(("name", "structure"), ARCS)
def test_structures_are_the_papers(name, structure):
    data = load_or_skip(name)
    parents = data.structures[structure]
    left_out = {"class"} if name == "heart" else set()
    assert set(parents) == set(data.frame) - left_out
    assert all(set(of_child) <= set(parents) for of_child in parents.values())
    graph = nx.DiGraph(arcs_in_letters(data, structure))
    assert nx.is_directed_acyclic_graph(graph)
    assert graph.number_of_edges() == ARCS[name, structure]
    assert {(n, s) for n, s in ARCS if n == name} == {(name, s) for s in data.structures}


def test_some_structures_arc_by_arc():
    cars = datasets.load("auto_mpg")
    assert arcs_in_letters(cars, "paper") == {tuple(arc) for arc in ["BC", "CE", "EA", "AG", "EG", "CG", "CD", "DF"]}
    wine = datasets.load("wine")
    assert arcs_in_letters(wine, "paper_drawn") - arcs_in_letters(wine, "paper") == {("A", "J")}
    assert datasets.load("seeds").structures["paper"]["groove"] == ("perimeter", "length")
    assert datasets.load("iris").structures["paper"]["petal_width"] == ("class",)


def test_checksums():
    directory = files("jaxbn.datasets").joinpath("data")
    sums = dict(line.split()[::-1] for line in directory.joinpath("SHA256SUMS").read_text().splitlines())
    assert set(sums) == {f"{name}.csv" for name in PACKAGED}
    for name, expected in sums.items():
        assert hashlib.sha256(directory.joinpath(name).read_bytes()).hexdigest() == expected, name


@pytest.mark.skipif(not BESIDE.is_dir(), reason="JAXBN_DATA does not name a folder of data")
@pytest.mark.parametrize("name", datasets.names())
def test_equals_the_data_beside_the_project(name):
    with (BESIDE / f"{name}.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if all(row.values())]
    frame = datasets.load(name).frame
    assert list(frame) == list(rows[0])
    for column in frame:
        as_loaded = type(frame[column].tolist()[0])  # float, int or str
        assert frame[column].tolist() == [as_loaded(row[column]) for row in rows], column


def test_every_load_is_a_new_copy():
    first = datasets.load("iris")
    first.frame.iloc[0, 0] = -1.0
    first.structures["paper"].clear()
    assert datasets.load("iris").frame.iloc[0, 0] == 5.1
    assert datasets.load("iris").structures["paper"]


def test_unknown_name():
    with pytest.raises(ValueError, match=r"'auto-mpg': did you mean 'auto_mpg'\?"):
        datasets.load("auto-mpg")
    with pytest.raises(ValueError, match=r"'zzz': Known names: auto_mpg, wine"):
        datasets.load("zzz")


def test_names():
    assert datasets.names() == list(SHAPES)


class TestIlpd:
    @pytest.fixture(autouse=True)
    def _no_directory(self, monkeypatch):
        monkeypatch.delenv(_loader.DIRECTORY_VARIABLE, raising=False)

    @pytest.fixture
    def small(self, monkeypatch):
        """A stand-in of two rows for UCI's file, as UCI serves it: another header, CRLF, a missing value."""
        rows = [["65", "Female", *["1"] * 9], ["62", "Male", *["2"] * 7, "", "1"]]
        monkeypatch.setattr(_loader, "VALUES_SHA256", _loader._digest(rows))
        header = "Age,Gender,TB,DB,Alkphos,Sgpt,Sgot,TP,ALB,A/G Ratio,Selector"
        return "\r\n".join([header, *(",".join(row) for row in rows)]) + "\r\n"

    def test_neither_remedy(self, monkeypatch, tmp_path):
        with pytest.raises(OSError, match=r"(?s)JAXBN_DATA \(now unset\).*downloaded.*no network in tests"):
            datasets.load("ilpd")
        monkeypatch.setenv(_loader.DIRECTORY_VARIABLE, str(tmp_path / "nowhere"))
        with pytest.raises(OSError, match=r"nowhere.ilpd\.csv does not exist"):
            datasets.load("ilpd")

    def test_directory(self, monkeypatch, tmp_path, small):
        (tmp_path / "ilpd.csv").write_bytes(small.encode())
        monkeypatch.setenv(_loader.DIRECTORY_VARIABLE, str(tmp_path))
        frame = datasets.load("ilpd").frame
        assert frame.shape == (1, 11)  # the incomplete row is dropped
        assert frame["ag_ratio"].tolist() == [1.0]

    def test_wrong_values(self, monkeypatch, tmp_path, small):
        (tmp_path / "ilpd.csv").write_text(small.replace("65", "66"))
        monkeypatch.setenv(_loader.DIRECTORY_VARIABLE, str(tmp_path))
        with pytest.raises(ValueError, match=r"ilpd\.csv does not hold UCI's values.*2 rows"):
            datasets.load("ilpd")

    @pytest.mark.parametrize("header", [True, False])
    def test_download_once(self, monkeypatch, small, header):
        calls = []

        def answer(url, timeout):
            calls.append(url)
            if url == _loader.URLS[0]:
                raise URLError("gone")
            return io.BytesIO((small if header else small.split("\r\n", 1)[1]).encode())

        monkeypatch.setattr(_loader, "urlopen", answer)
        first, second = datasets.load("ilpd").frame, datasets.load("ilpd").frame
        assert calls == list(_loader.URLS)
        pd.testing.assert_frame_equal(first, second)
        assert [path.name for path in _loader._cache_file().parent.iterdir()] == ["ilpd.csv"]


PARENT_CONFIGURATIONS = [(1, 1), (1, 2), (2, 1), (2, 2)]


def groups(frame):
    return {key: frame.loc[(frame["P1"] == key[0]) & (frame["P2"] == key[1]), "X"] for key in PARENT_CONFIGURATIONS}


@pytest.mark.parametrize("generator", [datasets.table6, datasets.gauss, datasets.indep])
def test_coins_are_fair_and_independent(generator):
    frame = generator(8000, seed=3)
    assert list(frame) == ["P1", "P2", "X"]
    assert [len(x) / 8000 for x in groups(frame).values()] == pytest.approx([0.25] * 4, abs=0.02)
    assert frame["P1"].dtype == np.int64


def test_table6():
    bounds = {(1, 1): (2, 6), (1, 2): (1, 3), (2, 1): (4, 5), (2, 2): (4.5, 7.5)}
    for key, x in groups(datasets.table6(8000)).items():
        low, high = bounds[key]
        assert low <= x.min() < low + 0.02
        assert high - 0.02 < x.max() <= high
        assert x.mean() == pytest.approx((low + high) / 2, abs=0.1)


def test_gauss():
    for (p1, p2), x in groups(datasets.gauss(8000)).items():
        assert x.mean() == pytest.approx(2 * p1 + p2, abs=0.1)
        assert x.std() == pytest.approx(1.0, abs=0.06)


def test_indep():
    for x in groups(datasets.indep(8000)).values():
        assert x.mean() == pytest.approx(0.0, abs=0.1)
        assert x.std() == pytest.approx(1.0, abs=0.06)


def test_appendix_a():
    frame = datasets.appendix_a(500)
    assert list(frame) == ["A", "B"]
    assert ((frame["A"] == 2) == (frame["B"] >= 1.0)).all()
    assert 0.0 <= frame["B"].min() < 0.05
    assert 1.95 < frame["B"].max() < 2.0
    assert frame["A"].value_counts(normalize=True).tolist() == pytest.approx([0.5, 0.5], abs=0.1)


@pytest.mark.parametrize("generator", [datasets.table6, datasets.gauss, datasets.indep, datasets.appendix_a])
def test_generators_follow_the_seed(generator):
    pd.testing.assert_frame_equal(generator(50, seed=1), generator(50, seed=1))
    assert not generator(50, seed=1).equals(generator(50, seed=2))
    assert len(generator(1)) == 1
    for wrong in (0, -1, 2.5, "10", None):
        with pytest.raises(ValueError, match="n must be a positive whole number"):
            generator(wrong)


def test_rebuild_script_agrees_with_the_catalogue(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "benchmarks"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    import make_datasets

    assert set(make_datasets.SOURCES) == set(PACKAGED)
    assert make_datasets.as_csv("iris", [["5.10", "3.5", "1.4", "0.20", "Iris-setosa"]]).endswith(
        b"5.1,3.5,1.4,0.2,Iris-setosa\n"
    )
    with pytest.raises(ValueError, match="iris: 5 columns expected, got 2"):
        make_datasets.as_csv("iris", [["1", "2"]])
