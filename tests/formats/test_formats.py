"""Networks in the files of other programs: pyAgrum and pgmpy read what is written here, and the other way round."""

from __future__ import annotations

import gzip
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxbn
from jaxbn.formats.read import FORMATS
from jaxbn.formats.record import COMMENT, Record, record_of
from jaxbn.model.bayesnet import BayesNet
from tests.helpers.random_networks import random_network

KNOWN = ("asia", "cancer", "child", "insurance", "alarm")
AWKWARD = ["a b", 'say "x"', "it's", "ünï", "2nd", "a--b", "node ", "x/*y", "_under"]
NETWORKS = [random_network(seed, most=8) for seed in range(50)] + [random_network(7, names=AWKWARD)]
ENDINGS = sorted(set(FORMATS) - {".xmlbif", ".bifxml"})
EVERY = pytest.mark.parametrize("ending", ENDINGS)

ASIA = """
node asia { label = "visit"; states = ("yes" "no"); position = (1 2); }
node tub { states = ("yes" "no"); }
node smoke { states = ("yes" "no"); }  % a comment
node lung { states = ("yes" "no"); }
node either { states = ("yes" "no"); }
potential (asia) { data = ( 0.01 0.99 ); }
potential (tub | asia) { data = ((0.05 0.95)(0.01 0.99)); }
potential (smoke) { data = (0.5 0.5); }
potential (lung | smoke) { data = ((0.1 0.9)(0.01 0.99)); }
potential (either | lung tub) { data = (((1 0)(1 0))((1 0)(0 1))); }
"""


def known_networks(folder: Path) -> list[BayesNet]:
    """Networks that pgmpy comes with."""
    pgmpy = pytest.importorskip("pgmpy")
    models = Path(pgmpy.__file__).parent / "utils" / "example_models"
    for name in KNOWN:
        (folder / f"{name}.bif").write_bytes(gzip.decompress((models / f"{name}.bif.gz").read_bytes()))
    return [jaxbn.read(folder / f"{name}.bif") for name in KNOWN]


def pyagrum() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("pyagrum")


def same(found: Record, expected: Record, atol: float) -> None:
    """The same network, whatever the order of its variables and parents."""
    assert {name: set(p) for name, p in found.parents.items()} == {n: set(p) for n, p in expected.parents.items()}
    for name, parents in expected.parents.items():
        order = [found.parents[name].index(parent) for parent in parents]
        table = found.tables[name].transpose(*order, len(order))
        np.testing.assert_allclose(table, expected.tables[name], rtol=0, atol=atol, err_msg=name)
        assert found.states[name] == expected.states[name]


def of_pyagrum(model: Any, names: list[str]) -> Record:
    """What pyAgrum has in memory; its variables are given other names, in the order of their numbers."""
    new = dict(zip(sorted(model.names(), key=model.idFromName), names, strict=True)) if names else {}
    states, parents, tables = {}, {}, {}
    for name in model.names():
        cpt, own = model.cpt(name), new.get(name, name)
        family = [each for each in cpt.names if each != name]
        states[own] = tuple(model.variable(name).labels())
        parents[own] = tuple(new.get(each, each) for each in family)
        axes = [list(reversed(cpt.names)).index(each) for each in (*family, name)]
        tables[own] = cpt.toarray().transpose(axes)
    return Record(states, parents, tables)


def plain(net: BayesNet) -> Record:
    """A network over words as a record."""
    return Record({n: tuple(map(str, net.levels[n])) for n in net.names}, dict(net.parents), dict(net.tables))


def without_comment(path: Path) -> Path:
    path.write_text(COMMENT.sub("", path.read_text()).replace(" -->", ""))
    return path


@EVERY
def test_what_was_written_is_read_again_to_the_last_bit(ending: str, tmp_path: Path) -> None:
    for net in NETWORKS:
        net.write(tmp_path / f"net{ending}")
        again = jaxbn.read(tmp_path / f"net{ending}")
        assert again == net


@EVERY
@pytest.mark.filterwarnings("ignore")
def test_known_networks_are_read_again(ending: str, tmp_path: Path) -> None:
    for net in known_networks(tmp_path):
        net.write(tmp_path / f"net{ending}")
        assert jaxbn.read(tmp_path / f"net{ending}") == net
        if ending != ".uai":
            same(plain(jaxbn.read(without_comment(tmp_path / f"net{ending}"))), record_of(net), 0.0)


@EVERY
def test_without_the_comment_words_and_tables_are_left(ending: str, tmp_path: Path) -> None:
    for net in NETWORKS:
        net.write(tmp_path / f"net{ending}")
        found = jaxbn.read(without_comment(tmp_path / f"net{ending}"))
        expected = record_of(net)
        if ending == ".uai":
            numbers = [str(i) for i in range(len(expected.states))]
            assert found.names == tuple(numbers)
            for number, table in zip(numbers, expected.tables.values(), strict=True):
                np.testing.assert_array_equal(found.tables[number], table)
        else:
            same(plain(found), expected, 0.0)


@EVERY
def test_pyagrum_reads_what_is_written(ending: str, tmp_path: Path) -> None:
    gum = pyagrum()
    for net in NETWORKS + known_networks(tmp_path):
        record = record_of(net)
        if any(len(states) < 2 for states in record.states.values()):
            continue
        file = tmp_path / ("net.bifxml" if ending == ".xml" else f"net{ending}")
        net.write(file)
        names = list(record.states) if ending == ".uai" else []
        found = of_pyagrum(gum.loadBN(str(file)), names)
        if ending in (".uai", ".xdsl"):  # pyAgrum reads the states of the first parent as if they varied fastest
            for name, parents in record.parents.items():
                shape = [len(record.states[each]) for each in (*reversed(parents), name)]
                axes = (*reversed(range(len(parents))), len(parents))
                record.tables[name] = record.tables[name].reshape(shape).transpose(axes)
        if ending == ".uai":
            found = Record(record.states, found.parents, found.tables)
        same(found, record, 1e-6)  # it reads in single precision


@pytest.mark.parametrize("ending", [".bif", ".bifxml", ".net"])
def test_what_pyagrum_writes_is_read(ending: str, tmp_path: Path) -> None:
    gum = pyagrum()
    for seed in range(50):
        gum.initRandom(seed)
        model = gum.randomBN(n=7, ratio_arc=1.6, domain_size=3)
        gum.saveBN(model, str(tmp_path / f"net{ending}"))
        same(plain(jaxbn.read(tmp_path / f"net{ending}")), of_pyagrum(model, []), 1e-5)  # of six digits


def test_what_pyagrum_writes_for_genie_has_its_own_order_of_parents(tmp_path: Path) -> None:
    gum = pyagrum()
    model = gum.fastBN("a{u|v|w}->b{x|y}")
    gum.saveBN(model, str(tmp_path / "net.xdsl"))
    same(plain(jaxbn.read(tmp_path / "net.xdsl")), of_pyagrum(model, []), 1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ending", [".bif", ".xml", ".xdsl", ".net"])
def test_pgmpy_reads_what_is_written_and_the_other_way_round(ending: str, tmp_path: Path) -> None:
    pytest.importorskip("pgmpy")
    from pgmpy import readwrite as rw

    readers = {".bif": rw.BIFReader, ".xml": rw.XMLBIFReader, ".xdsl": rw.XDSLReader, ".net": rw.NETReader}
    writers = {".bif": rw.BIFWriter, ".xml": rw.XMLBIFWriter, ".xdsl": rw.XDSLWriter, ".net": rw.NETWriter}
    for net in NETWORKS + (known_networks(tmp_path) if ending != ".bif" else []):  # which pgmpy wrote
        record = record_of(net)
        net.write(tmp_path / f"net{ending}")
        model = readers[ending](str(tmp_path / f"net{ending}")).get_model()
        states, parents, tables = {}, {}, {}
        for cpd in model.get_cpds():
            states[cpd.variable] = tuple(cpd.state_names[cpd.variable])
            parents[cpd.variable] = tuple(cpd.variables[1:])
            tables[cpd.variable] = np.moveaxis(cpd.values, 0, -1)
        same(Record(states, parents, tables), record, 1e-9)
        writers[ending](model).write(str(tmp_path / f"back{ending}"))
        same(plain(jaxbn.read(tmp_path / f"back{ending}")), record, 1e-6)


@pytest.mark.filterwarnings("ignore")
def test_pgmpy_finds_the_arcs_and_numbers_of_a_uai_file(tmp_path: Path) -> None:
    """Its tables have the child's states varying slowest, against the format's definition, so numbers are compared."""
    pytest.importorskip("pgmpy")
    from pgmpy.readwrite import UAIReader

    for net in NETWORKS[:20]:
        record = record_of(net)
        net.write(tmp_path / "net.uai")
        reader = UAIReader(str(tmp_path / "net.uai"))
        place = {name: f"var_{i}" for i, name in enumerate(record.states)}
        assert reader.edges == {(place[p], place[c]) for c, found in record.parents.items() for p in found}
        for child, numbers in reader.tables:
            name = list(record.states)[int(child[4:])]
            np.testing.assert_array_equal(np.array(numbers, float), record.tables[name].ravel())


def test_a_file_of_another_program(tmp_path: Path) -> None:
    (tmp_path / "asia.net").write_text("net { }\n" + ASIA)
    net = jaxbn.read(tmp_path / "asia.net")
    assert net.names == ("asia", "tub", "smoke", "lung", "either")
    assert net.levels["asia"] == ("yes", "no")
    assert net.query("either")["yes"] == pytest.approx(0.064828)
    for ending in ENDINGS:
        net.write(tmp_path / f"again{ending}")
        assert jaxbn.read(tmp_path / f"again{ending}") == net


def test_deterministic_nodes_of_genie(tmp_path: Path) -> None:
    (tmp_path / "net.xdsl").write_text(
        '<?xml version="1.0" encoding="ISO-8859-1"?><smile version="1.0" id="n"><nodes>'
        '<cpt id="a"><state id="u"/><state id="v"/><probabilities>0.25 0.75</probabilities></cpt>'
        '<deterministic id="b"><state id="x"/><state id="y"/><parents>a</parents>'
        "<resultingstates>y x</resultingstates></deterministic></nodes></smile>"
    )
    assert jaxbn.read(tmp_path / "net.xdsl").query("b")["y"] == 0.25


WRONG = {
    ".xml": ["", "<BIF>", "<a/>", "<BIF><NETWORK><VARIABLE><NAME>a</NAME></VARIABLE></NETWORK></BIF>"],
    ".xdsl": ["<smile/>", "<smile><nodes><mau id='u'/></nodes></smile>", "<smile><nodes><cpt id='a'/></nodes></smile>"],
    ".net": ["", "soon", "net { } node a { states = (", "utility u { }", 'net { } node a { states = ("x" "x"); }'],
    ".uai": [
        "",
        "MARKOV 1 2 1 1 0 2 .5 .5",
        "BAYES 1 2 1",
        "BAYES 1 x",
        "BAYES 1 2 1 1 7 2 .5 .5",
        "BAYES 1 " + "9" * 30,
    ],
}


@pytest.mark.parametrize(("ending", "text"), [(e, t) for e, texts in WRONG.items() for t in texts])
def test_what_is_no_network_is_refused_by_name(ending: str, text: str, tmp_path: Path) -> None:
    (tmp_path / f"net{ending}").write_text(text)
    with pytest.raises(ValueError, match=re.escape(f"net{ending}")):
        jaxbn.read(tmp_path / f"net{ending}")


@pytest.mark.parametrize("ending", [".xml", ".xdsl", ".net", ".uai"])
def test_files_damaged_at_random_are_networks_or_refused(ending: str, tmp_path: Path) -> None:
    random_network(3).write(tmp_path / f"net{ending}")
    text, rng = (tmp_path / f"net{ending}").read_text(), np.random.default_rng(0)
    for _ in range(300):
        at, length = int(rng.integers(len(text))), int(rng.integers(1, 12))
        new = "".join(rng.choice(list('(){}<>"= 0.5a%|;\n'), int(rng.integers(0, 3))))
        (tmp_path / f"bad{ending}").write_text(text[:at] + new + text[at + length :])
        try:
            net = jaxbn.read(tmp_path / f"bad{ending}")
        except ValueError as error:
            assert f"bad{ending}" in str(error)  # noqa: PT017
        else:
            assert all(net.query(name).sum() == pytest.approx(1.0) for name in net.names)


def test_probabilities_that_do_not_sum_to_one_are_refused(tmp_path: Path) -> None:
    (tmp_path / "net.uai").write_text("BAYES 1 2 1 1 0 2 0.5 0.6")
    with pytest.raises(ValueError, match="the table of '0' must be probabilities that sum to 1"):
        jaxbn.read(tmp_path / "net.uai")


def test_an_unknown_ending_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in one of \.json, \.bif, \.xml"):
        NETWORKS[0].write(tmp_path / "net.txt")


def test_bins_are_ranges_in_pyagrum() -> None:
    gum = pyagrum()
    data = {"kind": ["a", "a", "b", "b"], "mass": [1000.0, 2000.5, 7000.0, 9000.0]}
    net = jaxbn.fit(data, {"mass": ["kind"]}, {"mass": [4500.0]})
    for value in (1500, 5200, 9_500):
        found = gum.getPosterior(net.to_pyagrum(), target="kind", evs={"mass": str(value)}).toarray()
        np.testing.assert_allclose(found, net.query("kind", {"mass": value}), atol=1e-9)
    with pytest.raises(ValueError, match="bins"):
        net.to_pyagrum("words")  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", ["bif", "bifxml", "net", "dsl", "xdsl", "uai"])
def test_all_writers_of_pyagrum_take_the_labels(ending: str, tmp_path: Path) -> None:
    gum = pyagrum()
    for net in NETWORKS[:20]:
        if min(net.cardinalities.values()) > 1:
            gum.saveBN(net.to_pyagrum("labels"), str(tmp_path / f"net.{ending}"))
