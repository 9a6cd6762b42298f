"""Long runs: killed and resumed, refused where they do not fit, interrupted with something to show."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxbn
from jaxbn.learning.checkpoint import write_sealed
from jaxbn.learning.options import in_objects
from jaxbn.learning.solver import run_each
from jaxbn.runtime.files import locked
from jaxbn.runtime.progress import Progress
from tests.helpers import killed_runs
from tests.helpers.paper import as_in_the_paper
from tests.helpers.random_tables import Drawn, random_table


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    return random_table(9, n_rows=80, n_columns=6)


def learn(drawn: Drawn, path: Path | None = None, **options: Any) -> jaxbn.BayesNet:
    return jaxbn.learn(
        drawn.frame, **in_objects({"continuous": drawn.continuous, "checkpoint": path, **as_in_the_paper(options)})
    )


def as_plain(net: jaxbn.BayesNet) -> dict[str, Any]:
    """Everything of a network, to the last bit."""
    binnings = {name: (p.cuts.tolist(), repr(p.cost), p.lower, p.upper, p.method) for name, p in net.binnings.items()}
    tables = {name: table.tolist() for name, table in net.tables.items()}
    return {"parents": net.parents, "policies": binnings, "tables": tables, "score": net.score}


def finished(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())["finished"]


# --- killed


@pytest.mark.slow
def test_killed_and_resumed_it_ends_as_if_never_killed(tmp_path: Path) -> None:
    killed_at, result = killed_runs.kill_and_resume(tmp_path, kills=2, seed=1)
    assert killed_at
    assert all(0 < n < killed_runs.RESTARTS for n in killed_at)
    assert result == killed_runs.run()
    assert len(finished(tmp_path / "run.json")) == killed_runs.RESTARTS
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]


def test_interrupted_by_ctrl_c_it_returns_the_best_so_far(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    process = killed_runs.start(path)
    assert killed_runs.kill_after(process, path, 1, 0.0, signal.SIGINT)
    outcome = json.loads(path.with_suffix(".result").read_text())
    kept = finished(path)
    assert outcome["warnings"] == [
        f"interrupted: this is the best of {len(kept)} finished runs out of {killed_runs.RESTARTS}"
    ]
    best = max(kept.values(), key=lambda restart: restart["criterion"])
    assert outcome["result"]["parents"] == best["parents"]
    assert outcome["result"]["score"] == best["score"]
    assert killed_runs.run(path) == killed_runs.run()


# --- resumed


def test_a_finished_run_is_read_back_without_work(
    drawn: Drawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.json"
    first = learn(drawn, path, restarts=3, method="bayesian", search="k2")
    assert as_plain(first) == as_plain(learn(drawn, restarts=3, method="bayesian", search="k2"))
    monkeypatch.setattr("jaxbn.learning.solver.Solver.work_out", None)  # to call it is an error
    monkeypatch.setattr("jaxbn.learning.solver.Solver.answer", None)
    assert as_plain(learn(drawn, path, restarts=3, method="bayesian", search="k2")) == as_plain(first)


def test_every_finished_restart_is_kept_at_once(drawn: Drawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.json"
    seen = []
    original = Progress.finished

    def watched(self: Progress, restart: int, criterion: float) -> None:
        seen.append(len(finished(path)) if path.exists() else 0)
        original(self, restart, criterion)

    monkeypatch.setattr(Progress, "finished", watched)
    learn(drawn, path, restarts=4, method="bayesian", search="k2")
    assert seen == [0, 1, 2, 3]
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize("options", [{}, {"method": "mdl"}, {"required": [("v0", "v1")], "rate": "blanket"}])
def test_resumed_from_any_restart_the_result_is_the_same(drawn: Drawn, tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "run.json"
    whole = learn(drawn, path, restarts=4, **options)
    document = json.loads(path.read_text())
    checksum = document.pop("checksum")
    for kept in ([], ["0"], ["2"], ["3", "1"]):
        part = document | {"finished": {i: document["finished"][i] for i in kept}}
        write_sealed(path, part)
        assert as_plain(learn(drawn, path, restarts=4, **options)) == as_plain(whole)
        assert json.loads(path.read_text()) == document | {"checksum": checksum}


def test_more_restarts_continue_a_run_and_fewer_take_its_part(drawn: Drawn, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    learn(drawn, path, restarts=2, method="bayesian", search="k2")
    two = finished(path)
    assert as_plain(learn(drawn, path, restarts=6, method="bayesian", search="k2")) == as_plain(
        learn(drawn, restarts=6, method="bayesian", search="k2")
    )
    six = finished(path)
    assert {i: six[i] for i in two} == two
    assert len(six) == 6
    assert as_plain(learn(drawn, path, restarts=3, method="bayesian", search="k2")) == as_plain(
        learn(drawn, restarts=3, method="bayesian", search="k2")
    )
    assert finished(path) == six


def test_the_draft_of_a_killed_run_is_cleared_away(drawn: Drawn, tmp_path: Path) -> None:
    path, draft, other = (tmp_path / name for name in ("run.json", ".run.json.123.tmp", ".other.json.123.tmp"))
    learn(drawn, path, restarts=2, method="bayesian", search="k2")
    draft.write_text(path.read_text()[:100])
    other.write_text("not ours")
    learn(drawn, path, restarts=2, method="bayesian", search="k2")
    assert {entry.name for entry in tmp_path.iterdir()} == {path.name, other.name}


def test_a_given_order_can_be_kept_too(drawn: Drawn, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    first = learn(drawn, path, method="bayesian", search=jaxbn.K2(order=drawn.order))
    assert as_plain(learn(drawn, path, method="bayesian", search=jaxbn.K2(order=drawn.order))) == as_plain(first)
    with pytest.raises(ValueError, match=r"the order of restart 0 was .*, now it is .*same order or seed"):
        learn(drawn, path, method="bayesian", search=jaxbn.K2(order=drawn.order[::-1]))


def test_side_by_side_and_progress_are_no_part_of_the_run(drawn: Drawn, tmp_path: Path) -> None:
    first = learn(drawn, tmp_path / "run.json", restarts=2, method="bayesian", search="k2")
    again = learn(drawn, str(tmp_path / "run.json"), restarts=2, progress=False, method="bayesian", search="k2")
    assert as_plain(first) == as_plain(again)


# --- refused


DIFFERENCES = [
    ({"max_parents": 2}, "max_parents was 3, now it is 2"),
    ({"max_passes": 4}, "max_passes was 10, now it is 4"),
    ({"rate": "blanket"}, "rate was 'network', now it is 'blanket'"),
    ({"rate": 2.0}, "rate was 'network', now it is 2.0"),
    ({"method": "mdl"}, "method was 'bayesian', now it is 'mdl'"),
    ({"warm_start": True}, "warm_start was False, now it is True"),
    ({"select": "k2"}, "select was 'density', now it is 'k2'"),
    ({"initial_bins": 9}, "initial_bins was None, now it is 9"),
    ({"max_cells": 1000}, "max_cells was 10000000, now it is 1000"),
    ({"required": [("v0", "v1")]}, r"required was \{\}, now it is \{'v1': \['v0'\]\}"),
    ({"forbidden": [("v0", "v1")]}, r"forbidden was \[\], now it is \[\['v0', 'v1'\]\]"),
    ({"seed": 1}, "the order of restart 0 was 'v.', .*, now it is 'v"),
]


@pytest.fixture(scope="module")
def kept(drawn: Drawn, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kept") / "run.json"
    learn(drawn, path, restarts=2, method="bayesian", search="k2")
    return path


@pytest.mark.parametrize(("options", "message"), DIFFERENCES, ids=lambda v: str(v)[:30])
def test_other_options_are_refused_by_name(drawn: Drawn, kept: Path, options: dict[str, Any], message: str) -> None:
    before = kept.read_text()
    with pytest.raises(ValueError, match=f"belongs to another run: {message}"):
        learn(drawn, kept, restarts=2, **options)
    assert kept.read_text() == before


def test_other_data_is_refused(drawn: Drawn, kept: Path) -> None:
    continuous = drawn.continuous[0]
    changed = drawn.frame.copy()
    changed.loc[0, continuous] += 1e-9
    renamed = drawn.frame.rename(columns={"v0": "w0"})
    shuffled = drawn.frame[::-1]
    for frame, message in (
        (changed, "data was '[0-9a-f]+', now it is '[0-9a-f]+'"),
        (shuffled, "data was '[0-9a-f]+', now it is '[0-9a-f]+'"),
        (drawn.frame[1:], "rows was 80, now it is 79"),
        (drawn.frame[list(drawn.frame)[::-1]], r"columns was \['v0', .*, now it is \['v5', "),
    ):
        with pytest.raises(ValueError, match=f"belongs to another run: {message}"):
            learn(drawn._replace(frame=frame), kept, restarts=2, method="bayesian", search="k2")
    with pytest.raises(ValueError, match=r"columns was \['v0', .*, now it is \['w0', "):
        jaxbn.learn(
            renamed,
            checkpoint=kept,
            restarts=2,
            method="bayesian",
            search="k2",
            columns=jaxbn.Columns(continuous=[c.replace("v0", "w0") for c in drawn.continuous]),
        )
    count = drawn.frame.select_dtypes("int").columns[0]
    with pytest.raises(ValueError, match=f"continuous was .*, now it is .*'{count}'"):
        jaxbn.learn(
            drawn.frame,
            checkpoint=kept,
            restarts=2,
            method="bayesian",
            search="k2",
            columns=jaxbn.Columns(continuous=[*drawn.continuous, count]),
        )


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1, 2]", b"null", b"\xff\xfe", b'{"format": "jaxbn.BayesNet", "version": 1}', b"x,y\n1,2\n"],
    ids=repr,
)
def test_foreign_and_truncated_files_are_refused_and_left_alone(drawn: Drawn, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"notes.json' is not a jaxbn checkpoint; name another file"):
        learn(drawn, path, method="bayesian", search="k2")
    assert path.read_bytes() == content


def test_a_truncated_checkpoint_is_refused(drawn: Drawn, kept: Path, tmp_path: Path) -> None:
    text = kept.read_bytes()
    path = tmp_path / "cut.json"
    for share in (0.1, 0.5, 0.99):
        path.write_bytes(text[: int(share * len(text))])
        with pytest.raises(ValueError, match="is not a jaxbn checkpoint"):
            learn(drawn, path, restarts=2, method="bayesian", search="k2")


@pytest.mark.parametrize("damage", [{"finished": {"0": {}}}, {"finished": None}, {"run": 3}, {"finished": {"x": {}}}])
def test_a_damaged_checkpoint_is_refused(drawn: Drawn, kept: Path, tmp_path: Path, damage: dict[str, Any]) -> None:
    path = tmp_path / "damaged.json"
    path.write_text(json.dumps(json.loads(kept.read_text()) | damage))
    with pytest.raises(ValueError, match=r"damaged.json' is damaged.*name another file"):
        learn(drawn, path, restarts=2, method="bayesian", search="k2")


def test_mutated_checkpoints_end_in_one_clear_error(drawn: Drawn, kept: Path, tmp_path: Path) -> None:
    """Whatever byte is another: never a different result in silence."""
    path, rng = tmp_path / "mutated.json", np.random.default_rng(0)
    text = kept.read_bytes()
    for place in rng.integers(0, len(text) - 1, 60).tolist():
        if text[place : place + 1].isspace():
            continue
        mutated = text[:place] + bytes([text[place] ^ int(2 ** rng.integers(0, 5))]) + text[place + 1 :]
        path.write_bytes(mutated)
        with pytest.raises(ValueError, match=r"mutated.json' (is|has|belongs)"):
            learn(drawn, path, restarts=2, method="bayesian", search="k2")


def test_two_at_work_on_one_checkpoint_are_refused(drawn: Drawn, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with locked(path), pytest.raises(ValueError, match="is in use by another process; wait for its end"):
        learn(drawn, path, method="bayesian", search="k2")
    learn(drawn, path, method="bayesian", search="k2")
    assert [file.name for file in tmp_path.iterdir()] == ["run.json"]


def test_another_version_is_refused(drawn: Drawn, kept: Path, tmp_path: Path) -> None:
    path = tmp_path / "newer.json"
    path.write_text(json.dumps(json.loads(kept.read_text()) | {"version": 99}))
    with pytest.raises(ValueError, match="has version 99, this program reads 2"):
        learn(drawn, path, restarts=2, method="bayesian", search="k2")


def test_a_missing_directory_is_named_before_any_work(drawn: Drawn, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no directory .*nowhere.*make it first"):
        learn(drawn, tmp_path / "nowhere" / "run.json", method="bayesian", search="k2")
    with pytest.raises(ValueError, match="is a directory"):
        learn(drawn, tmp_path, method="bayesian", search="k2")


# --- interrupted


def test_an_interrupt_returns_the_best_of_the_finished(
    drawn: Drawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = count()  # over all calls: the first run tells how long others take

    def impatient(*arguments: Any) -> Iterator[tuple[int, Any]]:
        for found in run_each(*arguments):
            if next(counts) == 3:
                raise KeyboardInterrupt
            yield found

    path = tmp_path / "run.json"
    monkeypatch.setattr("jaxbn.learning.many_runs.run_each", impatient)
    with pytest.warns(UserWarning, match="interrupted: this is the best of 3 finished runs out of 6") as caught:
        net = learn(drawn, path, restarts=6, method="bayesian", search="k2")
    assert [Path(warning.filename).name for warning in caught] == ["test_checkpoint.py"]
    monkeypatch.undo()
    assert as_plain(net) == as_plain(learn(drawn, restarts=3, method="bayesian", search="k2"))
    assert len(finished(path)) == 3
    assert as_plain(learn(drawn, path, restarts=6, method="bayesian", search="k2")) == as_plain(
        learn(drawn, restarts=6, method="bayesian", search="k2")
    )


@pytest.mark.parametrize("at", [1, 3, 6])
def test_an_interrupt_with_nothing_finished_returns_the_unfinished_network(
    drawn: Drawn, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    seen = []

    def impatient(self: Progress, restart: int, variables: int, arcs: int) -> None:
        seen.append(arcs)
        if len(seen) == at:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "watch", impatient)
    with pytest.warns(UserWarning, match="interrupted: no run was finished, and this is an unfinished network"):
        net = learn(drawn, restarts=2, method="bayesian", search="k2")
    assert net.graph.number_of_edges() == seen[-1]
    assert list(net.binnings) == drawn.continuous
    assert np.isfinite(net.score)
    assert np.isfinite(net.log_likelihood(drawn.frame)).all()


def test_an_interrupt_before_anything_is_known_is_passed_on(drawn: Drawn, monkeypatch: pytest.MonkeyPatch) -> None:
    def impatient(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("jaxbn.learning.many_runs.run_each", impatient)
    with pytest.raises(KeyboardInterrupt):
        learn(drawn, method="bayesian", search="k2")


def test_another_seed_is_refused_by_turns(drawn: Drawn, tmp_path: Path) -> None:
    """Its runs begin elsewhere: those of the first seed were taken for them."""
    learn(drawn, tmp_path / "run.json", restarts=1, method="evidence", search="auto")
    with pytest.raises(ValueError, match="belongs to another run: seed was 0, now it is 1"):
        learn(drawn, tmp_path / "run.json", restarts=1, method="evidence", search="auto", seed=1)
