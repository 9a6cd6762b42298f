"""Networks on disk: versioned JSON, floats bit for bit, files replaced in one step."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxbn.cuts.policy import Policy
from jaxbn.groups.grouping import Grouping
from jaxbn.model.bayesnet import BayesNet
from jaxbn.runtime.files import PathLike, write_text

FORMAT = "jaxbn.BayesNet"
VERSION = 1


def save(net: BayesNet, path: PathLike) -> None:
    """Write a network as JSON; ``load`` reads back the same parents, policies, levels and tables, bit for bit.

    Args:
        net: the network.
        path: the file, which is replaced in one step: it is never seen half-written.

    Example:
        >>> import tempfile
        >>> from jaxbn.model.fit import fit
        >>> net = fit({"x": [0.0, 1.0, 4.0]}, {}, {"x": [2.0]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(net, f"{folder}/net.json")
        ...     load(f"{folder}/net.json").tables["x"].tolist()
        [0.6, 0.4]
    """
    write_text(path, json.dumps(to_dict(net), indent=1, allow_nan=False) + "\n")


def load(path: PathLike) -> BayesNet:
    """Read a network that ``save`` wrote.

    Raises:
        ValueError: the file is truncated or damaged, no jaxbn network, or of a newer version; the message says which.

    Example:
        >>> load("missing.json")
        Traceback (most recent call last):
            ...
        FileNotFoundError: [Errno 2] No such file or directory: 'missing.json'
    """
    text = Path(path).read_bytes()
    try:
        document = json.loads(text)
    except ValueError as error:  # covers invalid UTF-8 as well
        raise ValueError(
            f"{os.fspath(path)!r} is truncated or no JSON file ({error}); save the network again"
        ) from None
    return from_dict(document, source=repr(os.fspath(path)))


def to_dict(net: BayesNet) -> dict[str, Any]:
    """The network as plain lists, numbers and strings that JSON can hold; numbers JSON lacks become strings."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "score": _number(net.score),
        "n_rows": net.n_rows,
        "alpha": net.alpha,
        **({"alphas": dict(net.alphas)} if net.alphas else {}),
        "variables": [
            {"name": name, "parents": list(net.parents[name]), **_states(net, name), "table": net.tables[name].tolist()}
            for name in net.names
        ],
    }


def from_dict(document: Any, source: str = "the document") -> BayesNet:
    """The network that ``to_dict`` described; ``source`` names it in messages."""
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise ValueError(f"{source} is no jaxbn network: its 'format' is not {FORMAT!r}; pass a file written by save")
    version = document.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise ValueError(
            f"{source} has version {version!r}, newer than {VERSION}, the newest this jaxbn reads; upgrade jaxbn"
        )
    try:
        return _network(document)
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"{source} is damaged: {type(error).__name__} {error}; save the network again") from error


def _network(document: Mapping[str, Any]) -> BayesNet:
    variables = {v["name"]: v for v in document["variables"]}
    continuous = {name: v["policy"] for name, v in variables.items() if "policy" in v}
    return BayesNet(
        parents={name: tuple(v["parents"]) for name, v in variables.items()},
        policies={name: _policy(p) for name, p in continuous.items()},
        levels={name: tuple(v["levels"]) for name, v in variables.items() if "levels" in v},
        tables={name: np.array(v["table"], np.float64) for name, v in variables.items()},
        bounds={name: (float(v["bounds"][0]), float(v["bounds"][1])) for name, v in variables.items() if "bounds" in v},
        score=float(document["score"]),
        n_rows=int(document["n_rows"]),
        alpha=float(document["alpha"]),
        groupings={name: _grouping(v["grouping"]) for name, v in variables.items() if "grouping" in v},
        shares={name: np.array(v["shares"], np.float64) for name, v in variables.items() if "shares" in v},
        alphas={name: float(weight) for name, weight in document.get("alphas", {}).items()},
    )


def _states(net: BayesNet, name: str) -> dict[str, Any]:
    if name in net.groupings:
        grouping, levels = net.groupings[name], list(net.levels[name])
        groups = [list(group) for group in grouping.groups]
        fields = {"groups": groups, "cost": _number(grouping.cost), "method": grouping.method}
        return {"levels": levels, "grouping": fields, "shares": net.shares[name].tolist()}
    if name in net.levels:
        return {"levels": list(net.levels[name])}
    policy = net.policies[name]
    fields = {key: _number(getattr(policy, key)) for key in ("cost", "lower", "upper")}
    return {
        "policy": {"edges": policy.edges.tolist(), **fields, "method": policy.method},
        "bounds": list(net.bounds[name]),
    }


def _policy(fields: Mapping[str, Any]) -> Policy:
    numbers = {key: float(fields[key]) for key in ("cost", "lower", "upper")}
    return Policy(np.array(fields["edges"], np.float64), method=fields["method"], **numbers)


def _grouping(fields: Mapping[str, Any]) -> Grouping:
    return Grouping(tuple(map(tuple, fields["groups"])), float(fields["cost"]), fields["method"])


def _number(value: float) -> float | str:
    """JSON has no nan and no infinity: these are written as text, which float() reads."""
    return float(value) if math.isfinite(value) else str(float(value))
