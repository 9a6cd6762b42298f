"""``jaxbn posterior``, and the file of its average in other commands."""

from __future__ import annotations

import json

import jaxbn
from tests.helpers.command import Command, as_csv, frame

FEW = ("--draws", "4", "--chains", "2", "--burn-in", "1", "--max-parents", "1")


def test_draws_an_average_and_a_report(command: Command) -> None:
    data = command.has("table.csv", as_csv(frame()))
    done = command("posterior", data, *FEW, "--json", "--out", "average.json", "--report", "page.html")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["draws"] == 4
    assert document["finished"]
    assert {row["variable"] for row in document["bins"]} == {"size", "age"}
    assert isinstance(jaxbn.load(command.folder / "average.json"), jaxbn.AverageNet)
    assert "<h2>How probable</h2>" in (command.folder / "page.html").read_text(encoding="utf-8")
    asked = command("query", "average.json", "kind", "--given", "size=2:3", "--json")
    assert asked.returncode == 0, asked.stderr
    assert abs(sum(row["probability"] for row in json.loads(asked.stdout)["posterior"]) - 1) < 1e-9
    assert command("query", "average.json", "size").returncode == 0
    assert len(command("sample", "average.json", "-n", "3").stdout.splitlines()) == 4
    command.fails(
        "export",
        "average.json",
        "--out",
        "x.bif",
        says="'average.json' is an average of networks, for query and sample",
    )


def test_says_what_was_drawn(command: Command) -> None:
    data = command.has("table.csv", as_csv(frame()))
    done = command("posterior", data, *FEW, "--graph", "kind>size")
    assert done.returncode == 0, done.stderr
    assert "Posterior: 4 draws from 2 chains" in done.stdout
    assert "consensus, probability above 0.5: kind -> size" in done.stdout
