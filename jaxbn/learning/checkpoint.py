"""Checkpoints of long searches: finished runs are written atomically, and the same call resumes from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbn.cuts.binning import Binning
from jaxbn.groups.grouping import Grouping
from jaxbn.inputs.checks import ArgumentError, few
from jaxbn.inputs.table import Table
from jaxbn.learning.passes import Learned
from jaxbn.runtime.files import PathLike, locked, remove_drafts, write_text
from jaxbn.runtime.processes import Team
from jaxbn.scores.coded_table import Coding
from jaxbn.structure.constraints import Rules

FORMAT, VERSION = "jaxbn.checkpoint", 2


Write = Callable[[Mapping[str, Any]], None]
"""Replaces what a file holds."""


class Checkpoint(NamedTuple):
    """Finished restarts by number, kept in a file."""

    finished: dict[int, Learned]
    write: Write

    def add(self, number: int, learned: Learned) -> None:
        """Keep one more restart; the file is never seen half-written."""
        self.finished[number] = learned
        self.write({"finished": {str(i): to_json(found) for i, found in sorted(self.finished.items())}})


@contextmanager
def open_checkpoint(
    path: PathLike, run: Mapping[str, Any], orders: Sequence[tuple[str, ...]] = ()
) -> Iterator[Checkpoint]:
    """The checkpoint at a path, empty if there is no file yet; it is this process's alone until the block ends.

    Restarts may be more or fewer than before; those that are in both must have the same order.

    Raises:
        ValueError: the file is not a checkpoint, or belongs to other data or options, or another process is at work on
            it; the message names the difference.
    """
    with open_sealed(path, FORMAT, VERSION, run) as (document, write):
        finished = {int(i): from_json(learned) for i, learned in document.get("finished", {}).items()}
        for i, order in enumerate(orders):
            if i in finished and finished[i].order != order:
                changed = f"the order of restart {i} was {_shown(finished[i].order)}, now it is {_shown(order)}"
                raise _refused(path, f"belongs to another run: {changed}; use the same order or seed, or another file")
        yield Checkpoint(finished, write)


# --- files that are kept while work goes on


@contextmanager
def open_sealed(
    path: PathLike, kind: str, version: int, run: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], Write]]:
    """What a file of a kind holds, nothing if there is none yet, and what writes it; `run` must be that of the file.

    It is this process's alone until the block ends; half-written leftovers of a killed process are removed.
    """
    file, head = Path(path), {"format": kind, "version": version, "run": json.loads(json.dumps(run))}
    if not file.parent.is_dir():
        raise ArgumentError("checkpoint", f"{str(path)!r}: there is no directory {str(file.parent)!r}; make it first")
    if file.is_dir():
        raise _refused(path, "is a directory; name a file in it")
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(file))
        except BlockingIOError:
            raise _refused(path, "is in use by another process; wait for its end, or name another file") from None
        remove_drafts(file)
        found = _read(file, kind, version, head["run"]) if file.exists() else {}
        yield found, lambda content: write_sealed(file, {**head, **content})


def write_sealed(path: Path, document: Mapping[str, Any]) -> None:
    """Replace a file by a document with its checksum, in one step."""
    write_text(path, json.dumps({**document, "checksum": _checksum(document)}, indent=1) + "\n")


def _read(file: Path, kind: str, version: int, run: dict[str, Any]) -> dict[str, Any]:
    """The document in a file, checked."""
    try:
        document = json.loads(file.read_bytes())
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get("format") != kind:
        raise _refused(file, f"is not a {kind.replace('.', ' ')}; name another file")
    if document.get("version") != version:
        found = document.get("version")
        raise _refused(file, f"has version {found!r}, this program reads {version}; name another file")
    if document.pop("checksum", None) != _checksum(document):
        raise _refused(file, "is damaged: its checksum is another; name another file")
    for key in run | document["run"]:
        ours, theirs = run.get(key), document["run"].get(key)
        if ours != theirs:
            changed = f"{key} was {theirs!r}, now it is {ours!r}"
            raise _refused(file, f"belongs to another run: {changed}; use the same arguments, or another file")
    return document


def _refused(path: PathLike, why: str) -> ArgumentError:
    return ArgumentError("checkpoint", f"{str(path)!r} {why}")


def _checksum(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def fingerprint(table: Table) -> str:
    """A hash of everything in a table."""
    digest = hashlib.sha256(repr((table.names, table.continuous, table.levels)).encode())
    for name in table.names:
        column = table.values.get(name, table.codes.get(name))
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()[:16]


def described(table: Table, rules: Rules, merged: Sequence[str], given: Mapping[str, Binning]) -> dict[str, Any]:
    """What every run depends on, as JSON can hold it."""
    links = sorted([*sorted(pair), odds] for pair, odds in rules.links.items())
    return {
        "columns": list(table.names),
        "continuous": list(table.continuous),
        "rows": table.n_rows,
        "data": fingerprint(table),
        "max_parents": rules.max_parents,
        "required": {name: list(found) for name, found in rules.required.items()},
        "forbidden": sorted(map(list, rules.forbidden)),
        "max_cells": rules.max_cells,
        "merge_levels": list(merged),
        **({"links": links} if links else {}),
        **({"cuts": cuts_of(given)} if given else {}),
    }


def cuts_of(binnings: Mapping[str, Binning]) -> dict[str, list[float]]:
    """As JSON can hold them."""
    return {name: binning.cuts.tolist() for name, binning in binnings.items()}


def _shown(order: Sequence[str]) -> str:
    return few([*map(repr, order)], 6)


def _coding_to_json(p: Coding) -> dict[str, Any]:
    if isinstance(p, Grouping):
        return {"groups": p.groups, "cost": repr(p.cost), "method": p.method}
    return {"edges": p.cuts.tolist(), "cost": repr(p.cost), "lower": p.lower, "upper": p.upper, "method": p.method}


def _coding_from_json(p: dict[str, Any]) -> Coding:
    if "groups" in p:
        return Grouping(p["groups"], float(p["cost"]), p["method"])
    return Binning(np.array(p["edges"]), float(p["cost"]), p["lower"], p["upper"], p["method"])


def exchanged(found: Mapping[int, Learned], mates: Team) -> dict[int, Learned]:
    """What all processes have found, by number."""
    if mates.size == 1:
        return dict(found)
    text = json.dumps({str(i): to_json(learned) for i, learned in found.items()})
    every = [json.loads(message) for message in mates.exchange(text.encode())]
    return {int(i): from_json(learned) for each in every for i, learned in each.items()}


def to_json(learned: Learned) -> dict[str, Any]:
    """A learned structure as JSON can hold it, to the last bit."""
    binnings = {name: _coding_to_json(p) for name, p in learned.binnings.items()}
    return {**learned._asdict(), "binnings": binnings}


def from_json(found: dict[str, Any]) -> Learned:
    """The learned structure that `to_json` wrote."""
    binnings = {name: _coding_from_json(p) for name, p in found["binnings"].items()}
    parents = {name: tuple(names) for name, names in found["parents"].items()}
    order, trace = tuple(found["order"]), tuple(found.get("trace", ()))
    return Learned(order, parents, binnings, found["score"], found["criterion"], trace)
