"""Commands that learn from a table: learn, discretize, bootstrap, posterior, evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jaxbn
from jaxbn.cli import output
from jaxbn.cli.errors import UsageError, keep, tell, warn
from jaxbn.cli.library import Asked, Consensus, command
from jaxbn.cli.reading import STANDARD_INPUT_NAME, NamedTable, read_model
from jaxbn.inputs.later import pd
from jaxbn.runtime import limits

if TYPE_CHECKING:
    from jaxbn.inputs.table import Table
    from jaxbn.model.bayesnet import BayesNet

NOT_COMPARABLE = ("heart", "iris")  # data sets for which the paper leaves out the class or its term
MANY_ENTRIES = 50_000  # tables of up to this many entries are compared by all methods without being asked
ALL = ("evidence", "bayesian", "mdl", "equal_width", "equal_frequency")


@command("learn")
def learn(
    asked: Asked,
    folds: int = 10,
    compare: bool = False,
    out: Path | None = None,
    report: Path | None = None,
    no_files: bool = False,
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Learn a network: structure and cuts together, from a table.

    The algorithm of the paper is --method bayesian --search k2.

    Prints the network and its held-out log-likelihood, and writes a model file and an HTML report
    (only the files that are named if the table comes from stdin or the result is printed as JSON).

    Options:
        compare: Score all other methods too.
        out: Model file; by default NAME.jaxbn.json here.
        report: HTML report; by default NAME.report.html here.
        no_files: Write only the files that are named.
    """
    source, chosen = asked.source, asked.chosen
    if not (no_files or as_json or source.name == STANDARD_INPUT_NAME):
        out, report = out or Path(f"{source.name}.jaxbn.json"), report or Path(f"{source.name}.report.html")
    output.check_free((out, report), force)
    if folds < 0 or folds == 1:
        raise UsageError(f"--folds must be at least 2, or 0 for no cross-validation, got {folds}")
    table = asked.table()
    net = jaxbn.learn(table, **asked.arguments())
    if out is not None:  # before anything else that takes time
        output.write(out, net.save)
    shown = {"data": source.name, "missing": asked.columns["missing"], **chosen, "folds": folds}
    scored = held_out(net, table, folds, chosen.get("seed", 0), compare, chosen) if folds else None
    if report is not None:
        notes = published(source)
        output.write(report, jaxbn.report(net, table, title=source.name, scores=scored, notes=notes, options=shown))
    if as_json:
        output.put(_document(net, table, source.name, scored, shown, {"model": out, "report": report}))
        return
    from jaxbn.drawing.missing import dependences

    output.network(net)
    output.say("\n".join([f"\n{net.search}", *(each.words for each in dependences(net))]))
    if scored is not None:
        output.say(f"\nheld out, {folds} folds, structure fixed (higher is better):")
        output.scores(scored, published(source))


def _document(
    net: BayesNet, table: Table, name: str, scored: pd.DataFrame | None, shown: dict[str, Any], files: dict[str, Any]
) -> dict[str, Any]:
    from jaxbn.drawing.missing import dependences, missing_in
    from jaxbn.formats.json_file import to_dict

    return {
        "jaxbn": jaxbn.__version__,
        "data": name,
        "n_rows": net.n_rows,
        "score": net.score,
        "missing": {name: int(where.sum()) for name, where in missing_in(table).items()},
        "missing_depends_on": [each._asdict() for each in dependences(net)],
        "search": net.search and net.search.as_dict(),
        "arcs": net.arcs,
        "cuts": net.binnings,
        "groups": net.groupings,
        "held_out": None if scored is None else scored.to_dict("index"),
        "options": shown,
        "files": files,
        "network": to_dict(net),
    }


def held_out(
    net: BayesNet, table: Table, folds: int, seed: int, everything: bool, chosen: dict[str, Any]
) -> pd.DataFrame | None:
    """Log-likelihood of held-out rows on the structure found: the method used beside plain bins, or beside all others.

    Plain bins get the number that serves them best on the training rows. None after Ctrl-C, and for a single row.
    """
    if table.n_rows < 2:
        tell("one row cannot be held out: no cross-validation")
        return None
    if net.search and not net.search.finished:  # whoever pressed Ctrl-C, or set a limit, does not want to wait
        tell("no held-out scores, as the search was ended early; jaxbn evaluate computes them")
        return None
    from jaxbn.cuts.methods import each_method, users_of
    from jaxbn.learning.options import in_objects

    method = chosen.get("method", ALL[0])
    everything = everything or table.n_rows * len(table.names) <= MANY_ENTRIES
    others = [other for other in (ALL if everything else ALL[-2:]) if other != method]
    methods = each_method([method, *others], {key: chosen[key] for key in chosen if users_of(key)})
    columns = in_objects({key: chosen[key] for key in ("merge_levels", "cuts") if key in chosen})
    left = chosen["time_limit"] - net.search.seconds if "time_limit" in chosen and net.search else None
    with limits.within(left), limits.ending_early() as ending:
        return jaxbn.compare(table, net.parents, methods, folds=min(folds, table.n_rows), seed=seed, **columns)
    # the network is what takes long to learn, and it is there
    if ending.interrupted:
        keep()
    reason = "interrupted" if ending.interrupted else "the time is up"
    warn(f"{reason}: no held-out scores; the network is kept (--folds 0 leaves the scores out from the start)")
    return None


def published(source: NamedTable) -> str:
    """The paper's figures for a built-in data set in a sentence; empty if it has none that can be compared."""
    from jaxbn.datasets._loader import CATALOGUE

    figures = CATALOGUE[source.name].log_likelihood.get("paper") if source.builtin else None
    if figures is None or source.name in NOT_COMPARABLE:
        return ""
    return f"The paper, with its own structure: {figures[0]:.2f} (bayesian), {figures[1]:.2f} (mdl)."


@command("discretize")
def discretize(asked: Asked, graph: str | None = None, out: Path | None = None, as_json: bool = False) -> None:
    """Cut the continuous variables of a network whose structure is known.

    Options:
        out: CSV file for the rows as codes.
    """
    asked, structure = asked.with_structure(graph)
    if structure is None:
        raise UsageError("--graph is needed: the structure as a>b,b>c or a file; `jaxbn learn` finds one by itself")
    table = asked.table(keep_all=True)
    found = jaxbn.discretize(table, structure, **asked.arguments())
    if out is not None:
        frame = asked.source.frame
        frame = frame.dropna(ignore_index=True) if asked.columns["missing"] == "drop" else frame
        output.put(found.transform(frame), out, as_json=False)
    if as_json:
        done = {"passes": found.passes, "converged": found.converged}
        output.put({"cuts": found.binnings, "groups": found.groupings, **done})
    else:
        output.discretization(found)


@command("bootstrap")
def bootstrap(asked: Asked, wanted: Consensus) -> None:
    """Bootstrap the rows: how certain is each cut (with --graph), or each arc (without)?

    Options:
        threshold: Without a graph: the consensus has arcs of a strength above this.
        out: Model file of the consensus network.
        report: HTML report on the consensus network, with strengths.
    """
    if wanted.graph is not None and (wanted.out or wanted.report):
        raise UsageError("--out and --report are for the consensus network; leave --graph out to learn one")
    asked, structure, table = wanted.read(asked)
    found: Any = jaxbn.bootstrap(table, structure, **asked.arguments())
    document = {"resamples": found.resamples, "seed": found.seed, "bins": found.bins}
    if not wanted.as_json:
        output.say(repr(found))
    if structure is not None:
        if wanted.as_json:
            output.put({**document, "cuts": found.frame, "resampled": found.binnings})
        return
    consensus = found.consensus(wanted.threshold)
    if wanted.as_json:
        arcs = found.frame[found.frame["strength"] > 0]
        output.put({**document, "threshold": wanted.threshold, "arcs": arcs, "consensus": [*consensus.edges]})
    else:
        output.consensus(consensus, "strength", wanted.threshold)
    if wanted.out or wanted.report:
        codings = jaxbn.discretize(table, consensus, **asked.arguments("discretize")).codings
        net = jaxbn.fit(table, consensus, codings, inside_bins=True)
        if wanted.out is not None:
            output.write(wanted.out, net.save)
        if wanted.report is not None:
            wanted.write_report(asked, table, net, strengths=found.strengths)


@command("sample_posterior")
def posterior(asked: Asked, wanted: Consensus) -> None:
    """Sample networks from their posterior: how probable is each arc, and each cut?

    Options:
        threshold: The consensus has arcs of a probability above this.
        out: Model file of the average, for query and sample.
        report: HTML report on the consensus network, with probabilities.
    """
    from jaxbn.drawing.posterior import agreement, consensus_network

    asked, structure, table = wanted.read(asked)
    found = jaxbn.sample_posterior(table, structure, **asked.arguments())
    consensus = found.consensus(wanted.threshold)
    if wanted.as_json:
        document = {
            "draws": len(found.draws),
            "finished": found.finished,
            "on_grid": found.on_grid,
            "arcs": found.arcs[found.arcs["strength"] > 0],
            "bins": found.bins,
            "cuts": found.cuts,
            "groups": found.groups,
            "diagnostics": found.diagnostics.rename_axis("quantity").reset_index(),
            "consensus": [*consensus.edges],
        }
        output.put(document)
    else:
        output.say(repr(found))
        output.consensus(consensus, "probability", wanted.threshold)
        output.say(agreement(found))
    if wanted.out is not None:
        output.write(wanted.out, found.average.save)
    if wanted.report is not None:
        wanted.write_report(asked, table, consensus_network(found, wanted.threshold), posterior=found)


@command("cross_validate")
def evaluate(
    asked: Asked,
    graph: str | None = None,
    model: str | None = None,
    method: Sequence[str] = (),
    folds: int = 10,
    seed: int = 0,
    as_json: bool = False,
) -> None:
    """Cross-validate a structure: its log-likelihood on held-out rows, for several ways to cut.

    Without --graph a built-in data set is scored with the paper's structure, and for other tables the structure is
    learned in every fold.

    Options:
        model: Score the rows by this fitted model instead of a cross-validation.
        method: One or several of evidence, bayesian, mdl, equal_width, equal_frequency; bayesian_blocks with astropy.
    """
    if model is not None:
        logs = read_model(model).log_likelihood(asked.source.frame)
        error = float(logs.std(ddof=1) / len(logs) ** 0.5) if len(logs) > 1 else float("nan")
        if as_json:
            output.put({"rows": len(logs), "mean": logs.mean(), "standard_error": error})
        else:
            output.say(f"{len(logs)} rows, mean log-likelihood {logs.mean():.4f}, standard error {error:.4f}")
        return
    asked, structure = asked.with_structure(graph)
    table = asked.table(keep_all=True)
    from jaxbn.cuts.methods import users_of
    from jaxbn.learning.options import in_objects

    methods = tuple(dict.fromkeys(method)) or (ALL if structure is not None else ALL[:1])
    of_methods = {key: value for key, value in asked.chosen.items() if users_of(key)}
    others = in_objects({key: value for key, value in asked.chosen.items() if key not in of_methods})
    found = jaxbn.compare(table, structure, methods, folds=folds, seed=seed, **of_methods, **others)
    if as_json:
        output.put({"data": asked.source.name, "folds": folds, "seed": seed, "methods": found.to_dict("index")})
    else:
        output.scores(found, published(asked.source) if graph is None else "")
