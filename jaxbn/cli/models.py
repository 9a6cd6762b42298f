"""Commands for a network that was learned before: query, predict, score, sample, impute, export, compare, report."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jaxbn
from jaxbn.cli import output
from jaxbn.cli.errors import CommandError, UsageError, tell
from jaxbn.cli.learning import held_out, published
from jaxbn.cli.library import command, start_compiler
from jaxbn.cli.reading import NamedTable, as_number, named, names_in, read_any_model, read_model
from jaxbn.inputs.later import pd

if TYPE_CHECKING:
    from jaxbn.inputs.units import Unit
    from jaxbn.model.average import AverageNet
    from jaxbn.model.bayesnet import BayesNet

NETWORKS = ("json", "bif", "xml", "xmlbif", "bifxml", "xdsl", "net", "uai")
FORMATS = (*NETWORKS, "dot", "svg", "png", "pdf")
OF_NETWORK = "variable of the network"
EXAMPLES = {
    "number": ("number", ("1", "5")),
    "date": ("date", ("2020-01-31", "2020-06-30")),
    "datetime": ("date", ("2020-01-31", "2020-06-30")),
    "duration": ("duration", ("0:30:00", "1:30:00")),
}


@command()
def query(
    model: str, targets: list[str], given: Sequence[str] = (), allow_outside: bool = False, as_json: bool = False
) -> None:
    """Query a network, or an average of networks: the exact posterior of variables given others, in original units.

    Options:
        targets: Variables; several for their joint distribution.
        given: What is known: weight=3000, horsepower=70:100 or origin=1,2.
        allow_outside: Put values beyond the fitted range into the outer bin.
    """
    asked = read_any_model(model)
    net = asked if isinstance(asked, jaxbn.BayesNet) else asked.networks[0]
    wanted = names_in(targets, "TARGETS", net.names, OF_NETWORK)
    known = _observations(net, given, allow_outside)
    answer = asked.query(wanted, known)
    labels = [", ".join(states) for states in product(*(_states(asked, name) for name in wanted))]
    chances = list(zip(labels, answer.tolist(), strict=True))
    if as_json:
        states = [{"state": label, "probability": p} for label, p in chances]
        output.put({"targets": wanted, "given": known, "posterior": states})
    else:
        rows = [(label, f"{p:.4f}", "█" * round(30 * p)) for label, p in chances]
        output.table((", ".join(map(str, answer.index.names)), "probability", ""), rows, numbers=(1,))


def _states(net: BayesNet | AverageNet, name: str) -> list[str]:
    """The states of a posterior in words; those of a grouped variable are its levels."""
    from jaxbn.model.words import state_texts

    if not isinstance(net, jaxbn.BayesNet):
        return [str(state) for state in net.query(name).index]
    return [str(level) for level in net.levels[name]] if name in net.groupings else state_texts(net, name)


def _observations(net: BayesNet, texts: Sequence[str], allow_outside: bool) -> dict[str, Any]:
    """Observations by variable, from ``name=value``, ``name=low:high`` (either end may be empty) or ``name=a,b``."""
    found: dict[str, Any] = {}
    for text in texts:
        name, value = named(text, "--given", net.names, "name=value, name=low:high or name=a,b", OF_NETWORK)
        if name in found:
            raise UsageError(f"--given names {name!r} twice; write several values as {name}=a,b")
        if name in net.levels:
            found[name] = _levels(net, name, value)
        elif value in net.binnings[name].labels:
            found[name] = value
        else:
            found[name] = _numbers(name, value, net.binnings[name].unit)
            if not allow_outside:
                _check_range(net, name, found[name])
    return found


def _numbers(name: str, text: str, unit: Unit) -> Any:
    from jaxbn.cuts.words import short_numbers

    halves = [(text[:i], text[i + 1 :]) for i, letter in enumerate(text) if letter == ":"]
    if unit.kind != "number":  # a time of day has colons too
        halves = [ends for ends in halves if all(not end.strip() or math.isfinite(_read(end, unit)) for end in ends)]
    if halves:
        low, high = (_number(name, part, unit) if part.strip() else None for part in halves[0])
        if low is not None and high is not None and low > high:
            right = ":".join(short_numbers([high, low], unit=unit))
            raise UsageError(f"--given {name}={text}: the ends are swapped; write {name}={right}")
        return (low, high)
    values = [_number(name, part, unit) for part in text.split(",")]
    return values[0] if len(values) == 1 else values


def _read(text: str, unit: Unit) -> float:
    """The number that a text stands for, NaN if it stands for none."""
    from jaxbn.inputs.units import to_number

    try:
        return float(text) if unit.kind == "number" else to_number("", text.strip(), unit)
    except ValueError:
        return math.nan


def _number(name: str, text: str, unit: Unit) -> float:
    number = _read(text, unit)
    if not math.isfinite(number):
        kind, (one, two) = EXAMPLES[unit.kind]
        raise UsageError(
            f"--given {name}={text}: {text!r} is not a {kind}, but {name!r} is continuous; write {name}={one}, "
            f"{name}={one}:{two} or {name}={one},{two}"
        )
    return number


def _levels(net: BayesNet, name: str, text: str) -> Any:
    from jaxbn.inputs.checks import suggest

    known: dict[str, Any] = {str(level): level for level in net.levels[name]}
    known |= {str(level).lower(): level for level in net.levels[name] if isinstance(level, bool)}
    if text in known:
        return known[text]
    numbers = {level: level for level in known.values() if type(level) in (int, float)}
    ends = [as_number(end) if end.strip() else None for end in text.split(":")]
    if len(ends) == 2 and len(numbers) == len(known) and not any(isinstance(end, str) for end in ends):
        return tuple(ends)
    parts = [part.strip() for part in text.split(",")]
    found = [known.get(part, numbers.get(as_number(part))) for part in parts]  # 1.0 for the level 1
    for part, level in zip(parts, found, strict=True):
        if level is None:
            raise UsageError(f"--given {name}={part}: {part!r} is not a level of {name!r}; {suggest(part, known)}")
    return found[0] if len(found) == 1 else found


def _check_range(net: BayesNet, name: str, value: Any) -> None:
    from jaxbn.cuts.words import short_numbers

    low, high = net.bounds[name]
    numbers = [number for number in (value if isinstance(value, tuple | list) else [value]) if number is not None]
    outside = [number for number in numbers if not low <= number <= high]
    covers = (
        isinstance(value, tuple) and (value[0] is None or value[0] <= high) and (value[1] is None or value[1] >= low)
    )
    if outside and not covers:
        unit = net.binnings[name].unit
        shown = [short_numbers([number], among=(low, high), unit=unit)[0] for number in (outside[0], low, high)]
        raise UsageError(
            f"--given {name}={shown[0]} is outside the range the network knows of {name!r}, {shown[1]} to {shown[2]}; "
            "pass --allow-outside to put it into the outer bin"
        )


@command()
def predict(
    model: str, source: NamedTable, target: str, out: Path | None = None, returns: str = "state", unknown: str = "error"
) -> None:
    """Predict a variable for every row from the other columns; writes a CSV with a line for each row.

    Options:
        target: The variable to predict; its own column is not looked at.
        returns: state: the most probable; proba: all probabilities; for numbers also mean, median or 0.1,0.9.
    """
    net = read_model(model)
    names_in([target], "TARGET", net.names, OF_NETWORK)
    output.put(_predicted(net, source.frame, target, returns, unknown), out, as_json=False)


def _predicted(net: BayesNet, frame: pd.DataFrame, target: str, returns: str, unknown: Any) -> pd.DataFrame:
    if returns in ("state", "proba"):
        chances = net.predict_proba(frame, target, unknown=unknown).set_axis(_states(net, target), axis=1)
        return chances if returns == "proba" else pd.DataFrame({target: chances.columns[chances.to_numpy().argmax(1)]})
    points: Any = returns
    if returns not in ("mean", "median"):
        try:
            quantiles = [float(part) for part in returns.split(",")]
        except ValueError:
            raise UsageError(
                f"--returns must be state, proba, mean, median or quantiles such as 0.1,0.9, got {returns!r}"
            ) from None
        points = quantiles[0] if len(quantiles) == 1 else quantiles
    found = net.predict(frame, target, returns=points, unknown=unknown)
    return found if isinstance(found, pd.DataFrame) else found.to_frame(target)


@command()
def score(
    model: str,
    source: NamedTable,
    out: Path | None = None,
    shares: bool = False,
    simulations: int = 1000,
    seed: int = 0,
    unknown: str = "error",
) -> None:
    """Score every row: its log density, its p-value among rows drawn from the network, and what is unusual about it.

    Options:
        shares: Add the log density of each variable.
        simulations: Rows drawn by the network for the p-values.
    """
    net = read_model(model)
    found = net.score_samples(source.frame, simulations=simulations, seed=seed, unknown=unknown)  # type: ignore[arg-type]
    columns = [found.log_density, found.p_values, found.reasons(), *([found.shares] if shares else ())]
    output.put(pd.concat(columns, axis=1), out, as_json=False)


@command()
def sample(model: str, n: int = 10, seed: int = 0, out: Path | None = None, as_json: bool = False) -> None:
    """Draw rows from a network, or from an average of networks, in original units, as CSV.

    Options:
        n: Rows to draw.
        out: File: Parquet if it ends in .parquet, else CSV; rows are drawn some at a time, whatever their number.
    """
    net = read_any_model(model)
    if out is not None and not as_json:
        output.write(out, lambda path: net.sample_to(path, n, seed))
    else:
        output.put(net.sample(n, seed), out, as_json=as_json)


@command()
def impute(
    model: str,
    source: NamedTable,
    out: Path | None = None,
    strategy: str = "mean",
    seed: int = 0,
    unknown: str = "error",
) -> None:
    """Fill in the missing entries of a table, given what each row has.

    Options:
        strategy: mean: each entry alone; regression: the same, improved by regression on the other columns;
            most_probable: all entries of a row jointly; draw: a random draw from the posterior.
    """
    net = read_model(model)
    frame = source.frame
    filled = net.impute(frame, strategy, seed=seed, unknown=unknown)  # type: ignore[arg-type]
    before, after = int(frame.isna().sum().sum()), int(filled.isna().sum().sum())
    left = f"; {after} are left, in columns that the network does not have" if after else ""
    tell(f"{before - after} missing entries filled in{left}")
    output.put(filled, out, as_json=False)


@command()
def export(model: str, out: Path) -> None:
    """Write a network for other programs (bif, xml, xdsl, net, uai, dot) or as a picture (svg, png, pdf).

    Options:
        out: File; its ending says the format: json, bif, xml, xmlbif, bifxml, xdsl, net, uai, dot, svg, png, pdf.
    """
    kind = out.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        raise UsageError(f"--out {str(out)!r} must end in one of {', '.join('.' + each for each in FORMATS)}")
    net = read_model(model)
    if kind in NETWORKS:
        output.write(out, net.write)
    elif kind == "dot":  # Graphviz quotes as JSON does
        nodes = [f"  {json.dumps(name)};" for name in net.names]
        arcs = [f"  {json.dumps(parent)} -> {json.dumps(child)};" for parent, child in net.arcs]
        output.write(out, "\n".join(["digraph jaxbn {", *nodes, *arcs, "}"]) + "\n")
    elif kind == "svg":  # the drawing of the report in black, without a background
        from jaxbn.drawing.svg import network_svg

        output.write(out, network_svg(net).replace("<svg ", '<svg color="black" ', 1) + "\n")
    else:
        output.write(out, _picture(net, kind))


def _picture(drawn: Any, kind: str) -> bytes:
    """What has a plot, drawn without a screen."""
    import matplotlib as mpl

    mpl.use("Agg")
    picture = BytesIO()
    drawn.plot().figure.savefig(picture, format=kind, dpi=160)
    return picture.getvalue()


@command()
def compare(model: str, other: str, out: Path | None = None) -> None:
    """Show how two networks differ: arcs added, removed or reversed, and cuts that changed.

    Options:
        other: Another model file with the same columns.
        out: Picture of both: svg, png or pdf.
    """
    from jaxbn.model.words import count_states, cuts_in_words

    def states(net: BayesNet, name: str) -> str:
        cuts = f" ({cuts_in_words(net, name)})" if name in net.binnings and net.binnings[name].n_bins > 1 else ""
        return count_states(net, name) + cuts

    this, that = read_model(model), read_model(other)
    found = this.compare(that)
    both = {name: (states(this, name), states(that, name)) for name in this.names}
    changed = [f"{name}: {before} -> {after}" for name, (before, after) in both.items() if before != after]
    output.say("\n".join([str(found), *changed]))
    if out is not None:
        output.write(out, _picture(found, out.suffix.lstrip(".") or "png"))


@command()
def report(
    model: str,
    source: NamedTable | None = None,
    out: Path | None = None,
    compare: bool = False,
    folds: int = 10,
    seed: int = 0,
    force: bool = False,
    no_cache: bool = False,
) -> None:
    """Write an HTML report on a network: a single file that opens offline.

    Options:
        data: The rows, for the histograms: a file, a built-in data set, or - for stdin.
        out: HTML file; by default MODEL.report.html.
        compare: Cross-validate the structure with every method.
    """
    from jaxbn.formats.read import FORMATS

    path = Path(model)
    stem = (path.stem if path.suffix.lower() in (".json", *FORMATS) else path.name).removesuffix(".jaxbn")
    out = out or Path(f"{stem}.report.html")
    output.check_free((out,), force)
    if compare and (source is None or folds < 2):
        raise UsageError("--compare needs the rows as a second argument, and --folds of at least 2")
    net = read_model(model)
    made: dict[str, Any] = {"model": path.name, "data": source and source.name}
    table, scores, notes = None, None, ""
    if source is not None:
        from jaxbn.drawing.missing import rows_of
        from jaxbn.inputs.checks import suggest
        from jaxbn.inputs.states import with_signs

        for name in net.names:
            if name not in with_signs(source.frame, [name]).columns:
                near = suggest(name, source.frame.columns)
                raise CommandError(f"the table has no column {name!r} of the network; {near}")
        table = rows_of(net, source.frame)
        if compare:
            start_compiler(no_cache)
            made |= {"folds": folds, "seed": seed}
            scores, notes = held_out(net, table, folds, seed, True, {"method": "evidence"}), published(source)
    output.write(out, jaxbn.report(net, table, title=stem, scores=scores, notes=notes, options=made))
