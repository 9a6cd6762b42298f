"""JSON and BIF round-trips, and files that are refused."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jaxbn.cuts.binning import Binning
from jaxbn.formats import json_file
from jaxbn.formats.json_file import load
from jaxbn.formats.read import read_bif
from jaxbn.formats.record import unique_labels
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.search_report import SearchReport
from tests.helpers.random_networks import random_network

AWKWARD = [
    "a b",
    'say "x"',
    "it's",
    "ünï",
    "2nd",
    "",
    "a_b",
    "a-b",
    "table",
    "x;y",
    "{}",
    "// jaxbn",
    "*/",
    "\n",
    "日本",
]


def assert_same(one: BayesNet, two: BayesNet) -> None:
    assert one.parents == two.parents
    assert list(one.parents) == list(two.parents)
    assert one.levels == two.levels
    assert [[type(v) for v in levels] for levels in one.levels.values()] == [
        [type(v) for v in levels] for levels in two.levels.values()
    ]
    assert one.bounds == two.bounds
    assert one.n_rows == two.n_rows
    for name in one.names:
        assert one.tables[name].tobytes() == two.tables[name].tobytes()
        assert one.tables[name].shape == two.tables[name].shape
    assert list(one.binnings) == list(two.binnings)
    for name, binning in one.binnings.items():
        other = two.binnings[name]
        assert binning.cuts.tobytes() == other.cuts.tobytes()
        np.testing.assert_array_equal(
            [binning.cost, binning.lower, binning.upper], [other.cost, other.lower, other.upper]
        )
        assert binning.method == other.method


def round_trip(net: BayesNet, folder: Path) -> None:
    net.save(folder / "net.json")
    assert_same(net, load(folder / "net.json"))
    net.to_bif(folder / "net.bif")
    assert_same(net, read_bif(folder / "net.bif"))


@pytest.mark.parametrize("seed", range(20))
def test_random_networks_round_trip(seed: int, tmp_path: Path) -> None:
    round_trip(random_network(seed, most=10), tmp_path)


def test_awkward_names_round_trip(tmp_path: Path) -> None:
    round_trip(random_network(1, names=AWKWARD), tmp_path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.text(max_size=8), min_size=1, max_size=5, unique=True), seed=st.integers(0, 99))
def test_any_names_round_trip(names: list[str], seed: int, tmp_path: Path) -> None:
    round_trip(random_network(seed, names=names), tmp_path)


scalars = st.one_of(
    st.text(max_size=6), st.integers(-(10**18), 10**18), st.floats(allow_nan=False, allow_infinity=False)
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    levels=st.lists(scalars, min_size=1, max_size=5, unique=True),
    cuts=st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=6, unique=True),
    raw=st.lists(st.floats(1e-300, 1.0), min_size=5, max_size=5),
)
def test_any_levels_and_floats_round_trip(levels: list, cuts: list, raw: list, tmp_path: Path) -> None:
    edges = np.unique(np.array(cuts) + 0.0)
    if len(edges) < 2:
        return
    weights = np.array(raw[: len(levels)])
    inner = Binning(edges[1:-1], cost=math.pi, lower=float(edges[0]))
    net = BayesNet(
        {"d": ("c",), "c": ()},
        {"c": inner},
        {"d": tuple(levels)},
        {"d": np.tile(weights / weights.sum(), (inner.n_bins, 1)), "c": np.full(inner.n_bins, 1 / inner.n_bins)},
        {"c": (float(edges[0]), float(edges[-1]))},
        score=-math.e,
        n_rows=7,
    )
    round_trip(net, tmp_path)


@given(st.lists(st.text(max_size=5), max_size=8))
def test_labels_are_words_and_unique(texts: list[str]) -> None:
    labels = unique_labels(texts)
    assert len(set(labels)) == len(texts)
    assert all(re.fullmatch(r"[A-Za-z0-9_]+", label) for label in labels)


def test_every_truncation_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    random_network(2, names=["a", "b"]).save(path)
    text = path.read_text().rstrip()
    for cut in range(len(text)):
        path.write_text(text[:cut])
        with pytest.raises(ValueError, match=r"net\.json"):
            load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "is not a jaxbn network"),
        ({"version": 7}, "has version 7, newer than 6.*upgrade jaxbn"),
        ({"version": None}, "is damaged: 'version' must be from 1 to 6, got None"),
        ({"variables": [{}]}, "is damaged"),
        ({"variables": 3}, "is damaged"),
        ({"alpha": [1]}, "is damaged"),
    ],
)
def test_foreign_and_newer_files_are_refused_by_name(change: dict, message: str, tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    path.write_text(json.dumps({**json_file.to_dict(random_network(2)), **change}))
    with pytest.raises(ValueError, match=f"net.json' {message}"):
        load(path)


@pytest.mark.parametrize("content", [b"[1, 2]", b"\xff\xfe", b"\x80\x04pickle", b"", b"null"])
def test_other_content_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"net\.json"):
        load(path)


def test_saving_is_atomic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net.json"
    net = random_network(4)
    net.save(path)
    before = path.read_bytes()

    def fail(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(json_file.os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        random_network(5).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_damaged_bif_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "net.bif"
    random_network(2, names=["a", "b"]).to_bif(path)
    text = path.read_text()
    for cut in range(0, len(text.rstrip()), 7):
        path.write_text(text[:cut])
        with pytest.raises(ValueError, match=r"net\.bif', line \d+: expected "):
            read_bif(path)
    path.write_text(text.replace("variable a ", "variable other ").replace("( a", "( other").replace("| a", "| other"))
    with pytest.raises(ValueError, match="line 3: expected a description of the network that fits the rest"):
        read_bif(path)


def test_bif_from_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "rain.bif"
    path.write_text(
        """
        network unknown { property author = x; }
        variable rain { type discrete [ 2 ] { yes, no }; property position = (1, 2); } // a comment
        variable "wet" { type discrete[3]{ dry, damp, soaked }; }
        probability ( rain ) { table 0.2, 0.8 ; }
        probability ( wet | rain ) { (yes) 0.1, 0.3, 0.6; default 0.5, 0.25, 0.25; }
        """
    )
    net = read_bif(path)
    assert net.parents == {"rain": (), "wet": ("rain",)}
    assert net.levels["wet"] == ("dry", "damp", "soaked")
    assert net.tables["wet"].tolist() == [[0.1, 0.3, 0.6], [0.5, 0.25, 0.25]]
    path.write_text("variable a { type discrete [ 2 ] { x, y }; }")
    with pytest.raises(ValueError, match="line 1: expected probabilities for 'a', found the end of the file"):
        read_bif(path)
    path.write_text("nothing")
    with pytest.raises(ValueError, match="line 1: expected 'network', 'variable' or 'probability', found 'nothing'"):
        read_bif(path)
    path.write_text("variable a { type discrete [ 2 ] { x, y }; } probability ( a ) { table 1.0; }")
    with pytest.raises(ValueError, match="line 1: expected 2 probabilities, found 1"):
        read_bif(path)


def test_large_tables_are_compressed_and_come_back_bit_for_bit(tmp_path: Path) -> None:
    rng, levels = np.random.default_rng(0), tuple(range(60))
    table = np.full((60, 60, 60), 1 / 60)
    table[:3] = rng.dirichlet(np.ones(60), (3, 60))
    flat = np.full(60, 1 / 60)
    net = BayesNet(
        {"a": (), "b": (), "c": ("a", "b")}, {}, dict.fromkeys("abc", levels), {"a": flat, "b": flat, "c": table}, {}
    )
    path = tmp_path / "net.json"
    net.save(path)
    assert path.stat().st_size < 250_000  # of 216,000 cells, all but 10,800 alike
    assert_same(net, load(path))
    net.to_bif(tmp_path / "net.bif")
    assert_same(net, read_bif(tmp_path / "net.bif"))
    document = json.loads(path.read_text())
    packed = document["variables"][2]["table"]
    for change in (
        {"shape": [60, 60, 61]},
        {"shape": [60, 60]},
        {"zlib": "AAAA"},
        {"zlib": 3},
        {"shape": [10**5, 10**5]},
    ):
        document["variables"][2]["table"] = {**packed, **change}
        path.write_text(json.dumps(document))
        with pytest.raises(ValueError, match=r"net\.json' is damaged: 'variables\[2\]\.table"):
            load(path)


def test_files_of_version_1_are_read(tmp_path: Path) -> None:
    net, path = random_network(5), tmp_path / "net.json"
    net.save(path)
    document = json.loads(path.read_text())
    for variable in document["variables"]:
        variable["table"] = net.tables[variable["name"]].tolist()
    path.write_text(json.dumps({**document, "version": 1}))
    assert_same(net, load(path))


def test_how_a_network_was_found_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    for report in (
        SearchReport("evidence", "exact", 8, 2.5, -10035.2, True, 0.0),
        SearchReport("evidence", "orders", 1, 3.0, -math.inf, gap=None, finished=False, sample=1000),
    ):
        dataclasses.replace(random_network(5), search=report).save(path)
        assert load(path).search == report
    document = json.loads(path.read_text())
    del document["search"]["runs"]
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"'search\.runs' is missing"):
        load(path)


ROWS = """variable a {{ type discrete [ 2 ] {{ x, y }}; }}
variable b {{ type discrete [ 2 ] {{ u, v }}; }}
probability ( a ) {{ table 0.25, 0.75; }}
probability ( b | a ) {{
{rows}
}}
"""


@pytest.mark.parametrize(
    "rows",
    [
        "(x) 0.25, 0.75;\n(y) 5e-1, 0.5;",
        "( x )0.25,0.75;(y) 0.5 0.5;",
        '("x") 0.25, /* a quarter */ 0.75;\n(y) 0.5, 0.5,;',
        "default 0.5, 0.5;\n(x) 0.25,\n 0.75;\n",
    ],
)
def test_rows_of_a_bif_file_may_be_written_in_many_ways(rows: str, tmp_path: Path) -> None:
    path = tmp_path / "net.bif"
    path.write_text(ROWS.format(rows=rows))
    assert read_bif(path).tables["b"].tolist() == [[0.25, 0.75], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("(x) 0.25, 0.75;\n(z) 0.5, 0.5;", "line 6: expected one of the states x, y, found 'z'"),
        ("(x) 0.25, 0.75;\n(y) 0.5,\n0.5, 0.5;", "line 7: expected 2 probabilities, found 3"),
        ("(x) 0.25, 0.75;\n(y) 0.5, 1.5;", "line 6: expected a probability from 0 to 1, found '1.5'"),
        ("(x) 0.25, 0.75;\n(y) 0.5, 0.6;", "line 6: expected probabilities that sum to 1, found 1.1"),
        ("(x) 0.25,, 0.75;\n(y) 0.5, 0.5;", "line 5: expected a probability, found ','"),
        ("(x) 0.25, 0.75;", "line 6: expected a row for .y., found '}'"),
        ("(x, y) 0.25, 0.75;", "line 5: expected 1 states of the parents, found 2"),
    ],
)
def test_what_is_wrong_with_a_row_is_told_with_its_line(rows: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "net.bif"
    path.write_text(ROWS.format(rows=rows))
    with pytest.raises(ValueError, match=message):
        read_bif(path)
