"""Draw networks from their posterior: cuts and arcs together."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any

import numpy as np

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.methods import GRID, Evidence, MaxBins, Method, as_method
from jaxbn.inputs import checks
from jaxbn.inputs.checks import ArgumentError, Mention
from jaxbn.inputs.graph import MAX_TABLE_CELLS, GraphLike, Parents, arcs_and_names, as_parents
from jaxbn.inputs.missing import LOG
from jaxbn.inputs.table import DataLike, Missing, Table
from jaxbn.learning.checkpoint import described
from jaxbn.learning.columns import Columns, as_columns
from jaxbn.learning.discretize import discretize
from jaxbn.learning.holes.completion import HOLES, completed
from jaxbn.learning.learn import learn
from jaxbn.learning.options import as_start, old_keywords
from jaxbn.learning.passes import Learned
from jaxbn.model.bayesnet import BayesNet
from jaxbn.posterior.chain import Chain, State
from jaxbn.posterior.draws import Draw, Kept, draw_of, open_kept, restored
from jaxbn.posterior.results import Posterior
from jaxbn.runtime import limits
from jaxbn.runtime.files import PathLike
from jaxbn.runtime.progress import Progress
from jaxbn.runtime.shapes import FEW_POSITIONS
from jaxbn.runtime.workers import in_workers, n_workers
from jaxbn.scores.coded_table import CodedTable, Coding
from jaxbn.scores.evidence import arc_charge, shaped
from jaxbn.structure.constraints import Constraints, Rules, as_constraints

WRITE_EVERY = 10.0  # seconds between two writings of the checkpoint
PLAIN_BINS = 5  # with which chains begin where there was no time to find better ones
OTHER_STARTS = (3, 7, 9, 4, 6, 8, 2)  # plain bins with which the searches for starts of the other chains begin
ENOUGH_DRAWS = 20  # draws of each chain from which on chains may be said to disagree,
APART = 1.5  # where their R-hat is above this


@old_keywords
@limits.within()
def sample_posterior(
    data: DataLike,
    graph: GraphLike | None = None,
    *,
    draws: int = 100,
    chains: int = 4,
    burn_in: int = 10,
    thin: int = 1,
    seed: int = 0,
    start: BayesNet | None = None,
    method: str | Method = "evidence",
    max_bins: MaxBins = "auto",
    constraints: Constraints | None = None,
    max_parents: int = 3,
    max_cells: int = MAX_TABLE_CELLS,
    columns: Columns | Mapping[str, str] | None = None,
    missing: Missing = "infer",
    time_limit: float | None = None,
    checkpoint: PathLike | None = None,
    progress: bool = True,
) -> Posterior:
    """Draw networks, cuts and arcs together, from their posterior under ``method="evidence"``.

    ``jaxbn.learn`` returns the network with the highest evidence that it finds; many others are nearly as probable.
    Here chains of networks begin at what ``learn`` finds and then visit each network as often as it is probable. In
    every sweep each continuous variable has all its cuts drawn from their exact posterior, together with arcs around
    it, each level of a grouped variable chooses its group again, and then all arcs among up to six
    variables at a time are drawn together. There is nothing to tune.

    Args:
        data: a DataFrame, or a dict of columns.
        graph: arcs that stay as they are, in the ways ``jaxbn.discretize`` takes them: only cuts are drawn. None: arcs
            are drawn too.
        draws: how many networks, shared among the chains.
        chains: how many chains; several tell whether they agree (``.diagnostics``).
        burn_in: sweeps of each chain before the first draw.
        thin: sweeps from one draw to the next.
        seed: of the random numbers.
        start: a network at which all chains begin, for example one that ``jaxbn.learn`` has found; by default the first
            begins at what ``learn`` finds and the others at what it finds from a single other start.
        method: ``"evidence"``, or ``jaxbn.Evidence(...)`` with its options. All draws have the shapes of the start. A
            column with more distinct values than the ``grid`` has positions, at most 2,048, is cut only at this many,
            evenly spaced among the gaps (``.on_grid`` names these columns).
        max_bins: most bins of a column, see ``jaxbn.discretize``.
        constraints: arcs that every network has or none has, see ``jaxbn.Constraints``.
        max_parents: most parents of a variable.
        max_cells: networks with a larger table are not considered.
        columns: what is known about columns, see ``jaxbn.discretize``; known cuts stay, and groups of merged levels
            are drawn too.
        missing: what to do about missing entries, see ``jaxbn.as_table``. With ``"infer"`` they are filled in once, by
            a draw given ``start`` or the network that ``learn`` finds: the posterior is that of the completed table.
        time_limit: seconds after which the draws so far are returned.
        checkpoint: a file that keeps the draws; the same call started again goes on from it, also with more draws.
        progress: show a bar where someone watches.

    Returns:
        The draws: ``.arcs``, ``.cuts`` and ``.bins`` say how probable each is, ``.average`` answers as a network does,
        ``.networks`` are the networks. Interrupted by Ctrl-C they are those so far, with a warning.

    Example:
        >>> iris = jaxbn.datasets.load("iris").frame
        >>> found = jaxbn.sample_posterior(iris, draws=8, chains=2, burn_in=2, progress=False)
        >>> found.average.log_likelihood(iris).shape
        (150,)
    """
    deadline = math.inf if time_limit is None else time.monotonic() + checks.positive("time_limit", time_limit)
    columns, start = as_columns(columns), as_start(start)
    named = [*as_constraints(constraints).named, *(() if graph is None else arcs_and_names(graph)[1])]
    table = columns.table(data, missing, keep=[*named, *(() if start is None else start.names)])
    options = as_method(method, max_bins, table.continuous)
    if not isinstance(options, Evidence):
        raise ArgumentError("method", f"must be 'evidence', got {options.name!r}: only the evidence is a probability")
    rules = as_constraints(constraints).rules(table, max_parents, max_cells)
    for argument, value in (("draws", draws), ("chains", chains), ("thin", thin)):
        checks.at_least(argument, value, 1)
    checks.at_least("burn_in", burn_in, 0)
    grid = FEW_POSITIONS if options.grid is None else options.grid
    if grid > FEW_POSITIONS:
        raise ArgumentError("grid", f"must be at most {FEW_POSITIONS}, got {grid}", value=grid)
    grouped, known = columns.merged(table), columns.binnings(table)
    fixed = None if graph is None else as_parents(graph, table.names)
    with limits.within(deadline - time.monotonic()):
        given: Any = {"options": options, "rules": rules, "fixed": fixed, "start": start}
        given |= {"columns": Columns(merge_levels=grouped, cuts=known)}
        given |= {"seed": seed, "time_limit": time_limit, "progress": progress}
        if table.holes:
            found = start or _starts(table, 1, **given)[0]
            LOG.warning("missing entries are filled in once, by a draw; the posterior is that of the completed table")
            codings = {**(found.codings if isinstance(found, BayesNet) else found.binnings), **known}
            rng = np.random.default_rng([seed, HOLES])
            table = completed(CodedTable(table, grouped), found.parents if fixed is None else fixed, codings, rng)
        checks.at_least("seed", seed, 0)
        run = {}
        if checkpoint is not None:  # which needs the fingerprint of the table
            run, own = described(table, rules, grouped, known), options.described()
            run |= {name: own[name] for name in ("min_width", "max_bins", "shape", "weight", "arc_gain")}
            run["graph"] = None if fixed is None else {name: list(found) for name, found in fixed.items()}
            run |= {"chains": chains, "burn_in": burn_in, "thin": thin, "seed": seed}
        coded = CodedTable(table, grouped, rules.max_cells, options.flat, given=known)
        coded.check_cells(fixed or rules.start)
        with open_kept(checkpoint, {**run, "grid": grid}) as (kept, saved):
            if not kept.starts:
                kept.starts = _starts(table, chains, **given)
            widths = {name: options.narrowest(name, coded.ordered[name]) for name in table.continuous}
            bins = {name: options.most_bins(name) for name in table.continuous}
            likely = kept.starts[0].binnings
            # every column has the one shape that suits some cuts best: what is drawn is cuts and arcs
            for name, coding in (likely if limits.over() else shaped(coded, likely)).items():
                if isinstance(coding, Binning) and not coded.flat:
                    coded.shapes[name] = () if coding.shape is None else (coding.shape,)
            charge = arc_charge(table.n_rows, bool(table.continuous), options.arc_gain)
            chain = Chain(coded, rules, grid, widths, bins, fixed is None, charge, likely)
            for c, begin in enumerate(kept.starts):
                fresh = c not in saved
                kept.now[c] = (0, chain.begin(begin.parents, begin.binnings)) if fresh else restored(chain, saved[c])
            finished = _run(chain, kept, draws, burn_in, thin, seed, progress)
    if limits.interrupted():
        limits.answered(f"there are {len(kept.draws)} draws of {draws}")
    ordered = sorted(kept.draws, key=lambda draw: (draw.chain, draw.sweep))
    chosen = [draw.on(coded) for draw in ordered]
    on_grid = tuple(n for n in table.continuous if coded.ordered[n].n_distinct > grid and n not in known)
    never = None if fixed is not None else rules.ruled_out
    posterior = Posterior(table, tuple(chosen), seed, finished, on_grid, never)
    _tell_disagreement(posterior, len(kept.starts))
    return posterior


def _tell_disagreement(found: Posterior, chains: int) -> None:
    """Warn where chains of enough draws stay apart: their average weighs them alike, whatever each is worth."""
    if chains < 2 or len(found.draws) < ENOUGH_DRAWS * chains:
        return
    r_hats = found.diagnostics["r_hat"].dropna().sort_values(ascending=False, kind="stable")
    apart = r_hats[r_hats > APART]
    if len(apart):
        warnings.warn(
            f"the chains do not agree on {', '.join(apart.index[:3])}{' and more' * (len(apart) > 3)} (R-hat up to "
            f"{apart.iloc[0]:.2f}): shares of draws then say which chains are where, and are no probabilities; take "
            "higher draws and burn_in, or more chains to see how often each is found",
            UserWarning,
            stacklevel=3,
        )


Standings = dict[int, tuple[int, State]]
"""By number of a chain, its sweeps done and its state."""


@dataclass(frozen=True)
class _Sweeps:
    """Sweeps of chains up to their last ones."""

    chain: Chain
    burn_in: int
    thin: int
    seed: int
    last: list[int]  # of each chain

    def __call__(self, now: Standings) -> tuple[tuple[Standings, list[Draw]], Standings | None]:
        """One sweep of the chains that are furthest behind: how they are then, and their draws."""
        sweep = min(done for done, _ in now.values())
        together = [c for c, (done, _) in now.items() if done == sweep]
        # by seed, chain and sweep alone: a chain that is resumed, or runs beside others, is the same chain
        rngs = [np.random.default_rng([self.seed, c, sweep]) for c in together]
        states = self.chain.sweep([now[c][1] for c in together], rngs)
        found = {c: (sweep + 1, state) for c, state in zip(together, states, strict=True)}
        drawn = sweep >= self.burn_in and (sweep + 1 - self.burn_in) % self.thin == 0
        draws = [draw_of(self.chain, state, c, sweep + 1) for c, (_, state) in found.items() if drawn]
        return (found, draws), self.unfinished({**now, **found}) or None

    def unfinished(self, now: Standings) -> Standings:
        return {c: at for c, at in now.items() if at[0] < self.last[c]}

    def left(self, now: Standings) -> int:
        return sum(self.last[c] - done for c, (done, _) in now.items())


def _run(chain: Chain, kept: Kept, draws: int, burn_in: int, thin: int, seed: int, progress: bool) -> bool:
    """Sweeps of all chains until there are enough draws; whether it came to that."""
    n, n_rows = len(kept.now), chain.data.table.n_rows
    each = [draws // n + (c < draws % n) for c in range(n)]
    sweeps = _Sweeps(chain, burn_in, thin, seed, [burn_in + thin * count if count else 0 for count in each])
    waiting = sweeps.unfinished(kept.now)
    apart = [{c: at} for c, at in waiting.items()]  # in workers; else side by side, what they ask is one batch
    questions = apart if n_workers(n_rows) > 1 else [waiting] * bool(waiting)
    written = time.monotonic()
    with (
        Progress(progress, n, max(sweeps.last), "chains") as bar,
        limits.ending_early() as ending,
        in_workers(sweeps, questions, n_rows, sweeps.left) as answers,
    ):
        for now, drawn in answers:
            kept.now |= now
            kept.draws += drawn
            for c, (sweep, state) in now.items():
                bar.watch(c, sweep, sum(mask.bit_count() for mask in state.graph))
            if time.monotonic() > written + WRITE_EVERY:
                kept.write()
                written = time.monotonic()
    if kept.draws:
        kept.write()
    else:  # ended within the burn-in: better these than nothing
        kept.draws += [draw_of(chain, state, c, sweep) for c, (sweep, state) in kept.now.items()]
    return not ending.early


def _starts(
    table: Table,
    chains: int,
    *,
    options: Evidence,
    rules: Rules,
    columns: Columns,
    fixed: dict[str, tuple[str, ...]] | None,
    start: BayesNet | None,
    seed: int,
    time_limit: float | None,
    progress: bool,
) -> list[Learned]:
    """Where the chains begin."""
    grouped, known = columns.merged(table), columns.binnings(table)

    def learned(parents: Parents, codings: Mapping[str, Coding]) -> Learned:
        codings = {**codings, **known}
        for name in (*table.continuous, *grouped):
            if name not in codings:
                why = f"has no cuts or groups of {name!r}; begin with a network learned from this table, or pass "
                raise ArgumentError("start", why, Mention("merge_levels"))
        own = {name: codings[name] for name in (*table.continuous, *grouped)}
        return Learned((), {name: tuple(parents[name]) for name in table.names}, own, 0.0, 0.0)

    if start is not None:
        return [learned(start.parents if fixed is None else fixed, start.codings)] * chains
    common: dict[str, Any] = {"columns": columns, "max_cells": rules.max_cells}
    common["method"] = replace(options, grid=GRID)
    if fixed is not None:
        codings: Mapping[str, Any] = CodedTable(table, grouped, given=known).start(PLAIN_BINS, "frequency").binnings
        with limits.ending_early() as ending:
            codings = discretize(table, fixed, **common).codings
        if ending.interrupted:
            raise KeyboardInterrupt
        return [learned(fixed, codings)] * chains
    common |= {"max_parents": rules.max_parents, "progress": progress, "seed": seed}
    common["constraints"] = rules.constraints
    if time_limit is not None:
        common["time_limit"] = time_limit / (2 * chains)
    nets = [learn(table, **common)]
    for bins in islice(cycle(OTHER_STARTS), chains - 1):
        method = replace(common["method"], initial_bins=bins)
        # where time is up, the others begin where the first does
        nets.append(nets[0] if limits.over() else learn(table, **{**common, "method": method}, restarts=1))
    return [learned(net.parents, net.codings) for net in nets]
