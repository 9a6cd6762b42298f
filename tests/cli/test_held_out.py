"""Held-out scores of a network that was learned at the command line."""

from __future__ import annotations

from dataclasses import replace

import pytest

import jaxbn
from jaxbn.cli.learning import held_out
from jaxbn.cli.output import scores
from jaxbn.drawing.report import sections
from jaxbn.inputs.table import as_table
from tests.helpers.command import frame


def test_an_interrupt_while_scores_are_computed_keeps_the_network(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("jaxbn.compare", interrupted)
    table = as_table(frame())
    net = jaxbn.fit(table, {"size": ["kind"]}, {"size": [1.5], "age": [0.5]})
    assert held_out(net, table, 3, 0, False, {"method": "evidence"}) is None
    assert "the network is kept" in capsys.readouterr().err


def test_after_an_interrupt_no_folds_are_run(capsys: pytest.CaptureFixture[str]) -> None:
    table = as_table(frame())
    net = jaxbn.fit(table, {"size": ["kind"]}, {"size": [1.5], "age": [0.5]})
    net = replace(net, search=jaxbn.SearchReport("evidence", "exact", 1, 0.1, -1.0, finished=False))
    assert held_out(net, table, 3, 0, False, {"method": "evidence"}) is None
    assert "jaxbn evaluate" in capsys.readouterr().err


def test_without_numbers_there_is_no_mean_of_bins(capsys: pytest.CaptureFixture[str]) -> None:
    """It was "nan", also in the report."""
    found = jaxbn.compare({"a": ["x", "y"] * 10, "b": ["u", "v"] * 10}, {"a": ["b"]}, methods=["evidence"], folds=2)
    scores(found, "")
    assert "evidence" in (shown := capsys.readouterr().out)
    assert "nan" not in shown + sections.scores(found, "")
