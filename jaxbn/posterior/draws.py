"""Draws of networks, and the file that keeps them while chains go on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from jaxbn.cuts.binning import Binning
from jaxbn.groups.grouping import Grouping
from jaxbn.learning.checkpoint import Write, from_json, open_sealed, to_json
from jaxbn.learning.discretize import split_codings
from jaxbn.learning.passes import Learned
from jaxbn.posterior.chain import Chain, State
from jaxbn.runtime.files import PathLike
from jaxbn.scores.coded_table import CodedTable, Coding
from jaxbn.scores.evidence import effective_parents
from jaxbn.structure.constraints import bits

FORMAT, VERSION = "jaxbn.posterior", 2


class Draw(NamedTuple):
    """A network drawn from the posterior."""

    chain: int
    sweep: int  # counted from the beginning of the chain
    evidence: float  # F
    parents: dict[str, tuple[str, ...]]  # without arcs from or to a variable of one state, which say nothing
    binnings: dict[str, Binning]
    groupings: dict[str, Grouping]

    @property
    def codings(self) -> dict[str, Coding]:
        """Cuts and groups."""
        return {**self.binnings, **self.groupings}

    def on(self, data: CodedTable) -> Draw:
        """The draw with the shapes of its columns and the labels of given bins, which checkpoints do not keep."""
        shapes = {name: next(iter(data.shapes.get(name, ())), None) for name in self.binnings}
        binnings = {**self.binnings, **data.given}
        return self._replace(binnings={name: replace(binnings[name], shape=shapes[name]) for name in shapes})


def draw_of(chain: Chain, state: State, number: int, sweep: int) -> Draw:
    """A state as a draw."""
    parents = _parents(chain, state.graph)
    if chain.moves_arcs:
        columns, required = dict(zip(chain.names, state.columns, strict=True)), chain.rules.required
        parents = {name: effective_parents(name, found, columns, required) for name, found in parents.items()}
    return Draw(number, sweep, chain.log_target(state), parents, *split_codings(state.codings, chain.names))


def _parents(chain: Chain, graph: Sequence[int]) -> dict[str, tuple[str, ...]]:
    """The parents of all columns by name."""
    return {name: tuple(chain.names[p] for p in bits(mask)) for name, mask in zip(chain.names, graph, strict=True)}


@dataclass
class Kept:
    """What chains have so far: where each began and is now, and the draws; written to a file if there is one."""

    file: Write | None = None
    starts: list[Learned] = field(default_factory=list)
    now: dict[int, tuple[int, State]] = field(default_factory=dict)  # sweeps done, and the state
    draws: list[Draw] = field(default_factory=list)

    def write(self) -> None:
        """Replace what the file holds."""
        if self.file is not None:
            now = {str(c): [sweep, *_state_to_json(state)] for c, (sweep, state) in self.now.items()}
            starts, draws = [to_json(start) for start in self.starts], [_draw_to_json(draw) for draw in self.draws]
            self.file({"starts": starts, "now": now, "draws": draws})


@contextmanager
def open_kept(path: PathLike | None, run: Mapping[str, Any]) -> Iterator[tuple[Kept, dict[int, Any]]]:
    """What a file has, or nothing yet, and the states of its chains as it has them; see ``open_checkpoint``."""
    if path is None:
        yield Kept(), {}
        return
    with open_sealed(path, FORMAT, VERSION, run) as (document, write):
        starts = [from_json(start) for start in document.get("starts", ())]
        draws = [_draw_from_json(draw) for draw in document.get("draws", ())]
        yield Kept(write, starts, {}, draws), {int(c): state for c, state in document.get("now", {}).items()}


def restored(chain: Chain, found: Sequence[Any]) -> tuple[int, State]:
    """A chain's sweeps done and state, as the file has them."""
    sweep, graph, edges, groups = found
    codings: dict[str, Coding] = {name: Binning(np.array(cuts)) for name, cuts in edges.items()}
    return int(sweep), chain.begin(_parents(chain, graph), codings | _groupings(groups))


def _state_to_json(state: State) -> tuple[list[int], dict[str, list[float]], dict[str, Any]]:
    binnings = {name: p.cuts.tolist() for name, p in state.codings.items() if isinstance(p, Binning)}
    return list(state.graph), binnings, {n: g.groups for n, g in state.codings.items() if isinstance(g, Grouping)}


def _groupings(found: Mapping[str, Any]) -> dict[str, Grouping]:
    return {name: Grouping(groups, method="draw") for name, groups in found.items()}


def _draw_to_json(draw: Draw) -> list[Any]:
    binnings = {name: [p.cuts.tolist(), p.lower, p.upper] for name, p in draw.binnings.items()}
    groups = {name: grouping.groups for name, grouping in draw.groupings.items()}
    return [draw.chain, draw.sweep, draw.evidence, draw.parents, binnings, groups]


def _draw_from_json(found: Sequence[Any]) -> Draw:
    chain, sweep, evidence, parents, binnings, groups = found
    arcs = {name: tuple(some) for name, some in parents.items()}
    own = {n: Binning(np.array(c), lower=low, upper=high, method="draw") for n, (c, low, high) in binnings.items()}
    return Draw(int(chain), int(sweep), float(evidence), arcs, own, _groupings(groups))
