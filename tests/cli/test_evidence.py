"""Cuts by the evidence from the command line."""

from __future__ import annotations

import json

import pytest

import jaxbn
from tests.helpers.command import Command, as_csv, frame


def test_the_command_line_offers_the_evidence(command: Command):
    for name in ("learn", "discretize"):
        shown = command(name, "--help").stdout
        assert "evidence, bayesian (the paper) or mdl" in " ".join(shown.replace("│", " ").split())
        assert "--min-width" in shown


def test_learning_by_the_evidence_from_the_command_line(command: Command):
    """The others are held out against too, and know no smallest width."""
    data = command.has("table.csv", as_csv(frame()))
    options = ["--method", "evidence", "--min-width", "0.5", "--max-parents", "1", "--folds", "2", "--json"]
    done = command("learn", data, "--order", "kind,size,age", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found["held_out"]) == ["evidence", "bayesian", "mdl", "equal_width", "equal_frequency"]
    assert found["options"]["min_width"] == 0.5
    net = jaxbn.learn(
        frame(),
        max_parents=1,
        progress=False,
        method=jaxbn.Evidence(min_width=0.5),
        search=jaxbn.K2(order=["kind", "size", "age"]),
    )
    assert found["cuts"] == {name: binning.cuts.tolist() for name, binning in net.binnings.items()}


def test_cutting_by_the_evidence_from_the_command_line(command: Command):
    data = command.has("table.csv", as_csv(frame()))
    done = command("discretize", data, "--graph", "kind>size", "--method", "evidence", "--min-width", "gap", "--json")
    assert done.returncode == 0, done.stderr
    found = jaxbn.discretize(frame(), {"size": ["kind"]}, method=jaxbn.Evidence(min_width="gap"))
    assert json.loads(done.stdout)["cuts"] == {name: binning.cuts.tolist() for name, binning in found.binnings.items()}


@pytest.mark.parametrize(
    "options", [["0.5", "--method", "bayesian"], ["-1", "--method", "evidence"], ["step", "--method", "evidence"]]
)
def test_a_bad_width_is_a_usage_error(command: Command, options: list[str]):
    data = command.has("table.csv", as_csv(frame()))
    command.fails("learn", data, "--min-width", *options, says="--min-width", code=2)
