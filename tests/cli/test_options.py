"""Options on the command line: each is handed on as it was given, and refused in its own spelling."""

from __future__ import annotations

import json
import logging
import warnings

import pytest

import jaxbn
from jaxbn.cli.app import OPTIONS, app
from jaxbn.cli.errors import in_options, run
from jaxbn.inputs.checks import ArgumentError, Mention
from jaxbn.learning.options import in_objects
from tests.helpers.command import Command, as_csv, frame


@pytest.fixture
def data(command: Command) -> str:
    return command.has("table.csv", as_csv(frame()))


def test_no_parents_are_no_parents(command: Command, data: str) -> None:
    done = command("bootstrap", data, "--resamples", "3", "--max-parents", "0", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["arcs"] == []


def test_kinds_that_are_named_and_dropped_rows_that_are_said(command: Command) -> None:
    table = {"kind": [*"abababab"], "dose": [0.5, 1.5] * 4, "age": [*range(7), ""], "size": [0.5 * i for i in range(8)]}
    data = command.has("kinds.csv", as_csv(table))
    options = ["--discrete", "dose", "--continuous", "age", "--missing", "drop", "--graph", "kind>size", "--json"]
    done = command("discretize", data, *options)
    assert done.returncode == 0, done.stderr
    assert list(json.loads(done.stdout)["cuts"]) == ["age", "size"]
    assert done.stderr.count("dropped") == 1
    assert "jaxbn: warning: 1 of 8 rows were dropped for missing entries, in columns 'age' (1)\n" in done.stderr


@pytest.mark.parametrize(
    ("command_name", "options", "says"),
    [
        ("bootstrap", ["--restarts", "0"], "--restarts must be at least 1, got 0"),
        ("bootstrap", ["--graph", "kind>size", "--max-parents", "2"], "--max-parents is for learning the structure"),
        ("bootstrap", ["--level", "0.5"], "--level is for cuts of a known structure; leave it out, or pass --graph"),
        ("bootstrap", ["--method", "mdl", "--rate", "3"], "--rate is for --method bayesian, got 3.0 with method 'mdl'"),
        ("evaluate", ["--max-parents", "-1"], "--max-parents must be at least 0, got -1"),
        ("evaluate", ["--graph", "kind>size", "--order", "kind"], "leave it out, or leave out --graph"),
        ("evaluate", ["--method", "equal_width"], "pass --graph, or choose one of 'evidence'"),
        ("learn", ["--method", "evidence", "--rate", "2"], "--rate is for --method bayesian, got 2.0 with"),
        ("learn", ["--search", "k2", "--warm-start"], "--warm-start is for --method bayesian or --method mdl"),
        ("learn", ["--method", "evidence", "--select", "k2"], "--select is for --method bayesian or --method mdl"),
        (
            "learn",
            ["--order", "kind,size,age", "--restarts", "3"],
            "--restarts is 3, but with --order there is one run",
        ),
        ("learn", ["--required", "kind>size,age>size", "--max-parents", "1"], "raise --max-parents, which is 1"),
        ("learn", ["--required", "kind>size", "--forbidden", "kind>size"], "--required has the arc 'kind' -> 'size'"),
        ("learn", ["--required", "kind>size", "--root", "size"], "but --root rules it out; change one of them"),
        ("learn", ["--tier", "kind,size", "--tier", "kind"], "--tier has 'kind' in the tiers 1 and 2"),
        ("learn", ["--leaf", "sice"], "--leaf names 'sice', which is not a column; did you mean 'size'?"),
        ("learn", ["--required", "kind>size,size>kind"], "--required has a cycle"),
        ("learn", ["--group", "size"], "--group names 'size', which is a continuous column"),
        ("learn", ["--discrete", "size", "--continuous", "size"], "--discrete names 'size', and so does --continuous"),
        ("learn", ["--discrete", "sise"], "--discrete names 'sise', which is not a column; did you mean 'size'?"),
        ("learn", ["--missing", "fill"], "--missing must be one of 'infer', 'error', 'drop', 'state', got 'fill'"),
        ("learn", ["--checkpoint", "no/run.json"], "--checkpoint 'no/run.json': there is no directory 'no'"),
        ("discretize", ["--graph", "kind>size", "--initial-bins", "0"], "--initial-bins must be at least 1, got 0"),
    ],
)
def test_errors_name_the_option(
    command: Command,
    data: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command_name: str,
    options: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(command.folder)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # which `run` replaces
    monkeypatch.setattr(logging.getLogger("jaxbn"), "handlers", [])
    with pytest.raises(SystemExit) as ended:
        run(lambda: app([command_name, data, *options, "--no-cache"]), OPTIONS)
    assert ended.value.code == 2
    (error,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("jaxbn: error: "))
    assert says in error


@pytest.mark.parametrize("method", ["bayesian", "evidence"])
def test_the_consensus_network_is_cut_with_the_options_of_the_bootstrap(
    command: Command, data: str, method: str
) -> None:
    more = ["--method", method, "--max-parents", "0", "--initial-bins", "5", "--out", "net.json"]
    done = command("bootstrap", data, "--resamples", "2", *more)
    assert done.returncode == 0, done.stderr
    expected = jaxbn.discretize(frame(), {}, **in_objects({"initial_bins": 5, "method": method}))
    net = jaxbn.load(command.folder / "net.json")
    assert {name: binning.cuts.tolist() for name, binning in net.binnings.items()} == {
        name: binning.cuts.tolist() for name, binning in expected.binnings.items()
    }
    assert {binning.method for binning in net.binnings.values()} == {
        binning.method for binning in expected.binnings.values()
    }
    if method == "bayesian":  # whose bins stay as they were where a variable has no neighbour
        assert {binning.n_bins for binning in net.binnings.values()} == {5}


@pytest.mark.parametrize("head", ["", "from,to,known\n"])
def test_what_is_known_comes_from_a_file(command: Command, data: str, head: str) -> None:
    rows = "kind,size,required\nage,kind,Forbidden\n\nage,size,0.000001\n"
    known = command.has("known.csv", head + rows)
    done = command("learn", data, "--known", known, "--restarts", "1", "--folds", "0", "--no-files", "--json")
    assert done.returncode == 0, done.stderr
    arcs = {tuple(arc) for arc in json.loads(done.stdout)["arcs"]}
    assert ("kind", "size") in arcs
    assert not arcs & {("age", "kind"), ("age", "size"), ("size", "age")}


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (
            "kind,size,maybe",
            "row 1: 'kind,size,maybe' must be two columns and 'required', 'forbidden' or a probability",
        ),
        ("kind,size", "row 1: 'kind,size' must be two columns and"),
        ("kind,sice,0.5", "--known names 'sice', which is not a column of the data; did you mean 'size'?"),
        ("kind,size,0.0", "--known gives ('kind', 'size') the probability 0.0; give one between 0 and 1"),
    ],
)
def test_what_cannot_be_known_is_said(command: Command, data: str, row: str, says: str) -> None:
    known = command.has("known.csv", row + "\n")
    done = command("learn", data, "--known", known, "--no-files")
    assert done.returncode in (1, 2)
    assert says in done.stderr


class Started(Exception):  # noqa: N818
    """Raised instead of starting the compiler."""


@pytest.mark.parametrize(
    "arguments",
    [
        ["learn", "DATA", "--no-files"],
        ["discretize", "DATA", "--graph", "kind>size"],
        ["bootstrap", "DATA"],
        ["evaluate", "DATA"],
        ["report", "MODEL", "DATA", "--compare", "--out", "page.html"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_command_that_computes_starts_the_compiler_first(
    command: Command, data: str, model: str, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    def start() -> None:
        raise Started

    monkeypatch.setattr("jaxbn.enable_compilation_cache", start)
    monkeypatch.chdir(command.folder)
    with pytest.raises(Started):
        app([{"DATA": data, "MODEL": model}.get(word, word) for word in arguments], standalone_mode=False)


def test_arguments_without_an_option_keep_their_name() -> None:
    error = ArgumentError("side_by_side", "must be at least 1; see ", Mention("max_parents"))
    assert in_options(error, OPTIONS) == ("side_by_side must be at least 1; see --max-parents", 1)
    assert in_options(ValueError("rate must stay as it is"), OPTIONS) == ("rate must stay as it is", 1)


def test_cuts_and_labels(command: Command) -> None:
    table = {"age": [*range(10, 70)], "income": [10.0 + 3 * (i > 30) + 0.01 * i for i in range(60)]}
    data = command.has("people.csv", as_csv(table))
    options = ["--cuts", "age=18,65", "--labels", "age=child,adult,old"]
    done = command("learn", data, *options, "--folds", "3", "--restarts", "1", "--json", "--out", "net.json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cuts"]["age"] == [18, 65]
    shown = json.loads(command("query", "net.json", "age", "--json").stdout)
    assert [each["state"] for each in shown["posterior"]] == ["child", "adult", "old"]
    answers = [command("query", "net.json", "income", "--given", f"age={given}").stdout for given in ("old", "65:")]
    assert answers[0] == answers[1]
    done = command("evaluate", data, "--cuts", "age=18,65", "--graph", "age>income", "--method", "evidence", "--json")
    assert done.returncode == 0, done.stderr
    wrong = command("discretize", data, "--cuts", "aeg=18", "--graph", "age>income")
    assert wrong.returncode == 2
    assert "--cuts names 'aeg', which is not a column; did you mean 'age'?" in wrong.stderr


def test_what_an_arc_has_to_tell(command: Command, data: str) -> None:
    done = command("learn", data, "--arc-gain", "100", "--folds", "0", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["arcs"] == []
    refused = command("learn", data, "--arc-gain", "-1", "--folds", "0")
    assert refused.returncode == 2
    assert "--arc-gain must be finite and at least zero, got -1.0; for example 0.01" in refused.stderr
