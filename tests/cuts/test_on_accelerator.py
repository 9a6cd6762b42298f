"""The choices of an accelerator, on CPU devices: same cuts as on the host, few programs, no long arrays."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxbn
from jaxbn.counts import device
from jaxbn.counts.device import Deferred
from jaxbn.cuts import on_accelerator
from jaxbn.cuts.discretize_variable import best_binnings
from jaxbn.cuts.methods import Evidence
from jaxbn.cuts.on_grid import FINE
from jaxbn.inputs.table import as_table
from jaxbn.learning.solver import Cut, Solver
from jaxbn.runtime import devices
from jaxbn.scores.coded_table import CodedTable
from tests.helpers import shared_runs
from tests.helpers.compilations import compilations
from tests.helpers.programs import close, request_of
from tests.helpers.random_variables import random_variable

METHODS = ("bayesian", "mdl", "evidence")
BLANKETS: list[dict[str, Any]] = [
    {"n_parents": 1},
    {"n_parents": 3, "spouses": (2, 1)},
    {"n_parents": 0, "spouses": (0,)},
    {"n_parents": 2, "spouses": (0, 1, 2)},
]


def requests(n_rows: int) -> list[Any]:
    return [request_of(random_variable(s, n_rows + 7 * s, **BLANKETS[s % len(BLANKETS)])) for s in range(5)]


@pytest.fixture
def accelerated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(devices.AS_ACCELERATOR, "1")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n_rows", "grid"), [(1, None), (40, None), (150, None), (300, 64)])
def test_same_cuts_as_on_the_host(method: str, n_rows: int, grid: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = best_binnings(requests(n_rows), method, grid)
    monkeypatch.setenv(devices.AS_ACCELERATOR, "1")
    for one, other in zip(best_binnings(requests(n_rows), method, grid), expected, strict=True):
        assert one.cuts.tolist() == other.cuts.tolist()
        assert one.cost == close(other.cost)


@pytest.mark.usefixtures("accelerated")
def test_a_charge_for_very_many_bins_stays_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_accelerator, "best_partitions", lambda problems, charges: [] if not problems else 1 / 0)
    jaxbn.discretize_variable(np.arange(200.0), method="evidence", max_bins=None)


@pytest.mark.usefixtures("accelerated")
def test_a_device_that_was_chosen_is_obeyed() -> None:
    (device,) = jax.devices("cpu")
    with jax.default_device(device):
        assert devices.accelerators() == (device,)


def test_cpus_are_no_accelerators() -> None:
    assert devices.accelerators() == ()


@pytest.mark.parametrize("method", ["bayesian", "evidence"])
def test_loops_have_a_known_length(method: str, asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device must never wait for the host to read whether a loop goes on."""
    texts: list[str] = []
    programs = {"best_by_number": on_accelerator, "best_with_cuts": on_accelerator, "position_counts": device}
    for name, module in programs.items():
        program = getattr(module, name)

        def spied(*args: Any, program: Any = program, **kwargs: Any) -> Any:
            texts.append(program.lower(*args, **kwargs).compile().as_text())
            return program(*args, **kwargs)

        monkeypatch.setattr(module, name, spied)
    best_binnings([asked[0].request(asked[1][0])._replace(rate=4.0)], method, 64)
    assert len(texts) >= 2
    for text in texts:
        loops = [line for line in text.splitlines() if re.search(r"= .* while\(", line)]
        assert loops
        assert all("known_trip_count" in line for line in loops), loops


@pytest.mark.usefixtures("accelerated")
def test_few_programs_whatever_the_blanket() -> None:
    """One for blankets of few cells and one for those of more, however often they are asked about."""
    with compilations() as names:
        for _ in range(3):
            best_binnings(requests(100), "evidence", 64)
    assert len(names) <= 2, names


@pytest.mark.usefixtures("accelerated")
def test_nothing_as_long_as_the_table_crosses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts and cuts only: what is sent has a place for a cell and a position, not for a row."""
    rows, sent = 5000, []
    put = jax.device_put
    monkeypatch.setattr(
        on_accelerator.jax, "device_put", lambda tree, *to: sent.extend(jax.tree.leaves(tree)) or put(tree, *to)
    )
    request = request_of(random_variable(0, rows, n_parents=1))
    with jax.transfer_guard("disallow"):  # nothing crosses but what is sent and fetched by name
        best_binnings([request], "evidence", 64)
    of_question = [array for array in sent if array.ndim > 1]  # the others are tables by count, sent once
    assert of_question
    assert all(max(array.shape[1:]) <= 256 for array in of_question)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> tuple[Solver, list[Cut]]:
    """Questions about 5,000 rows, which a device counts: the same columns in other blankets."""
    monkeypatch.setenv(devices.AS_ACCELERATOR, "1")
    monkeypatch.setattr(device, "FEWEST_ROWS", 0)
    rng = np.random.default_rng(0)
    x, kinds = rng.normal(size=5000), rng.integers(0, 3, (4, 5000))
    frame = {"x": x + kinds[0], **{f"k{i}": np.where(x > 1, 0, own).astype(str) for i, own in enumerate(kinds)}}
    data = CodedTable(as_table(frame))
    a, b, c, d = (data.start(4).columns[f"k{i}"] for i in range(4))
    cuts = [Cut("x", (a,), ((b, ()), (c, (d,))), 0.0, 64), Cut("x", (a, b), ((d, (c,)),), 0.0, 64)]
    return Solver(data, Evidence()), cuts


@pytest.mark.parametrize("method", ["evidence", "mdl", "bayesian"])
def test_what_a_device_counts_is_what_the_host_does(method: str, asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    questions = [asked[0].request(cut)._replace(rate=4.0) for cut in asked[1]]
    assert all(isinstance(factor.cell, Deferred) for request in questions for factor in request.factors)
    found = best_binnings(questions, method, 64)
    assert not any("array" in vars(factor.cell) for request in questions for factor in request.factors)
    monkeypatch.setattr(device, "FEWEST_ROWS", 10**6)
    on_host = [asked[0].request(cut)._replace(rate=4.0) for cut in asked[1]]
    for one, other in zip(found, best_binnings(on_host, method, 64), strict=True):
        assert one.cuts.tolist() == other.cuts.tolist()
        assert one.cost == other.cost
    for one, other in zip(questions, on_host, strict=True):
        for factor, expected in zip(one.factors, other.factors, strict=True):
            assert [np.asarray(each).tolist() for each in factor[:3]] == [each.tolist() for each in expected[:3]]
            assert factor[3:-1] == expected[3:-1]
            assert factor.counts(None).tolist() == expected.counts(None).tolist()


@pytest.mark.parametrize("method", ["evidence", "mdl", "bayesian"])
def test_cuts_are_proved_where_a_device_counts(method: str, asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof looks at all rows: codes of a child with other parents were no array, which ended `learn` early."""
    found = best_binnings([asked[0].request(cut)._replace(rate=4.0) for cut in asked[1]], method)
    monkeypatch.setattr(device, "FEWEST_ROWS", 10**6)
    on_host = best_binnings([asked[0].request(cut)._replace(rate=4.0) for cut in asked[1]], method)
    assert [(each.cuts.tolist(), each.cost) for each in found] == [(each.cuts.tolist(), each.cost) for each in on_host]


def test_cuts_move_to_their_rows_by_counts_of_a_device(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only codes of rows near the cuts are made by the host."""
    questions = [asked[0].request(cut) for cut in asked[1]]
    found = best_binnings(questions, "evidence", 64, FINE)
    assert any(len(each.cuts) for each in found)
    assert not any("array" in vars(factor.cell) for request in questions for factor in request.factors)
    monkeypatch.setattr(device, "FEWEST_ROWS", 10**6)
    on_host = best_binnings([asked[0].request(cut) for cut in asked[1]], "evidence", 64, FINE)
    assert [(each.cuts.tolist(), each.cost) for each in found] == [(each.cuts.tolist(), each.cost) for each in on_host]


def test_columns_are_sent_once(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second question about the same columns sends counts and positions: nothing has a place for a row."""
    solver, (first, second) = asked
    sent, put = [], jax.device_put
    monkeypatch.setattr(jax, "device_put", lambda tree, *to: sent.extend(jax.tree.leaves(tree)) or put(tree, *to))
    for name in ("set_counts", "position_counts"):
        program = getattr(device, name)

        def spied(*args: Any, program: Any = program, **kwargs: Any) -> Any:
            sent.extend(leaf for leaf in jax.tree.leaves(args) if isinstance(leaf, np.ndarray))
            return program(*args, **kwargs)

        monkeypatch.setattr(device, name, spied)
    best_binnings([solver.request(first)], "evidence", 64)
    assert max(max(array.shape) for array in sent) >= 5000
    sent.clear()
    best_binnings([solver.request(second)], "evidence", 64)
    assert max(max(array.shape, default=0) for array in sent) <= 513


@pytest.mark.slow
@pytest.mark.parametrize("case", ["networks", "networks counted there"])
@pytest.mark.parametrize("flags", ["", shared_runs.EIGHT_DEVICES["XLA_FLAGS"]])
def test_same_networks_on_one_and_eight_devices(flags: str, case: str, tmp_path: Path) -> None:
    """All choices of an accelerator together: counts, scores and cuts."""
    env = shared_runs.EIGHT_DEVICES | {"XLA_FLAGS": flags, devices.AS_ACCELERATOR: "1"}
    process = shared_runs.start(case, tmp_path / "out", env=env)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert json.loads((tmp_path / "out").read_text()) == shared_runs.networks()
