"""Task 5: a fitted network in use: probabilities for 100,000 rows, and one query with most variables unobserved."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.jobs import Job, Row, Setting
from benchmarks.predict import TARGET, coded, network

NAME = "use"
ROWS = 100_000
PEERS = (("jaxbn", "jaxbn", ROWS), ("pgmpy", "pgmpy", ROWS), ("pyagrum", "pyAgrum", ROWS), ("bnlearn", "bnlearn", 500))
"""Rows asked of each; bnlearn compares every distinct row with all rows, so it is asked for a part."""

QUERY = {"x0": 0.3, "x5": 1.0}
"""Evidence in original units."""


def jobs(setting: Setting) -> Iterator[Job]:
    """Ten columns, every one of them observed but the target; then one query given two."""
    n_rows = 5_000 if setting.quick else ROWS
    net, data = network(n_rows)
    paths = {name: str(setting.folder / file) for name, file in _FILES.items()}
    net.save(paths["model"])
    net.to_bif(paths["network"])
    data.to_csv(paths["original"], index=False)
    states = coded(net, data)
    states.to_csv(paths["data"], index=False)
    labels = {name: list(net.state_labels(name)) for name in net.names}
    codes = np.column_stack([[labels[name].index(state) for state in states[name]] for name in net.names])
    evidence = {name: labels[name][int(net.binnings[name](np.array([value]))[0])] for name, value in QUERY.items()}
    request = {**paths, "target": TARGET, "states": labels[TARGET], "labels": labels}
    expected = _given_all_others(net, codes)
    for peer, label, most in PEERS:
        asked = {"task": "predict", "rows": min(most, n_rows), "output": str(setting.folder / f"{peer}.npy")}
        score = partial(_predicted, expected, Path(asked["output"]))
        yield Job(NAME, peer, label, {"what": "predict_proba", "rows": asked["rows"]}, request | asked, score, 240.0)
    answer = _given_two(net, {name: labels[name].index(state) for name, state in evidence.items()})
    for peer, label, _ in PEERS:
        asked = {"task": "query", "evidence": evidence, "original_evidence": QUERY}
        score = partial(_asked, answer)
        yield Job(NAME, peer, label, {"what": "one query", "rows": 1}, request | asked, score)


_FILES = {"model": "use.json", "network": "use.bif", "original": "use.csv", "data": "use_states.csv"}


def _given_all_others(net: Any, codes: np.ndarray) -> np.ndarray:
    """P(target | the rest of the row), by the product of the tables the target stands in."""
    place = {name: i for i, name in enumerate(net.names)}
    total = np.zeros((len(codes), net.cardinalities[TARGET]))
    for state in range(total.shape[1]):
        rows = codes.copy()
        rows[:, place[TARGET]] = state
        for child, parents in net.parents.items():
            if TARGET in (child, *parents):
                total[:, state] += np.log(net.tables[child][tuple(rows[:, place[v]] for v in (*parents, child))])
    total = np.exp(total - total.max(1, keepdims=True))
    return total / total.sum(1, keepdims=True)


def _given_two(net: Any, evidence: dict[str, int]) -> np.ndarray:
    """P(target | evidence), by the sum over the whole joint distribution."""
    place = {name: i for i, name in enumerate(net.names)}
    operands: list[Any] = []
    for child, parents in net.parents.items():
        operands += [net.tables[child], [place[v] for v in (*parents, child)]]
    for name, state in evidence.items():
        operands += [np.eye(net.cardinalities[name])[state], [place[name]]]
    joint = np.einsum(*operands, [place[TARGET]], optimize=True)
    return joint / joint.sum()


def _predicted(expected: np.ndarray, path: Path, answer: dict[str, Any]) -> Row:
    found = np.load(path)
    difference = float(np.abs(found - expected[: len(found)]).max())
    return {"difference": difference, "per_100k": answer["seconds"] / len(found) * 100_000}


def _asked(expected: np.ndarray, answer: dict[str, Any]) -> Row:
    return {"difference": float(np.abs(np.array(answer["posterior"]) - expected).max())}


def checks(rows: list[Row]) -> list[Row]:
    """Every program gives the probabilities of the definition."""
    return [
        {"what": f"{row['label']}, {row['what']}: probabilities as defined", "holds": row["difference"] < 1e-6}
        for row in rows
        if "difference" in row
    ]
