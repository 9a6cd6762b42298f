"""The pictures of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import pyplot as plt

from benchmarks.peers.compare import expanded
from benchmarks.peers.jobs import Row
from benchmarks.peers.tasks import density

OURS = "#b2182b"
DENSITY_AXIS = "nats a row above jaxbn bayesian with the paper's structure"
DENSITY_TICKS = (-30, -10, -3, -1, -0.5, 0, 0.5, 1, 3, 10, 30)


def write(tasks: dict[str, list[Row]], output: Path) -> dict[str, tuple[str, ...]]:
    """Names of the pictures of each task, as far as there is something to show."""
    matplotlib.use("Agg")
    makers = {"cuts": (_cut_times, _cut_quality), "structure": (_structure,), "density": (_density,)}
    made: dict[str, tuple[str, ...]] = {}
    for task, functions in makers.items():
        rows = [row for row in tasks.get(task, ()) if "failure" not in row]
        if rows:
            made[task] = tuple(
                _saved(function(rows), output / f"{function.__name__[1:]}.png") for function in functions
            )
    return made


def _saved(figure: Any, path: Path) -> str:
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path.name


def _styles(labels: list[str]) -> dict[str, dict[str, Any]]:
    """jaxbn in red, thick; everyone else in a colour of their own."""
    wheel = plt.get_cmap("tab10").colors
    colours = iter([*wheel[:3], *wheel[4:], "black"])  # its red is too close to jaxbn's
    styles: dict[str, dict[str, Any]] = {}
    for label in labels:
        ours = label.startswith("jaxbn")
        dashes = "--" if ours and any(name.startswith("jaxbn") for name in styles) else "-"
        styles[label] = {"color": OURS if ours else next(colours), "lw": 2.2 if ours else 1.2, "ls": dashes}
    return styles


def _labels(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["label"] for row in rows))


def _cut_times(rows: list[Row]) -> Any:
    return _cut_lines(rows, (("seconds", "warm seconds", "log"), ("megabytes", "peak memory, MB", "linear")))


def _cut_quality(rows: list[Row]) -> Any:
    fields = (
        ("class_score", "ln P(class given bin)", "linear"),
        ("column_score", "ln p(column given class)", "linear"),
    )
    return _cut_lines(rows, fields)


def _cut_lines(rows: list[Row], fields: tuple[tuple[str, str, str], ...]) -> Any:
    """A panel for each data set and field, rows on the x axis."""
    names, styles = list(dict.fromkeys(row["data"] for row in rows)), _styles(_labels(rows))
    size = (4.2 * len(names), 3.0 * len(fields) + 0.9)
    figure, axes = plt.subplots(len(fields), len(names), figsize=size, squeeze=False, layout="constrained", sharex=True)
    for line, (field, title, scale) in zip(axes, fields, strict=True):
        for ax, name in zip(line, names, strict=True):
            for label, style in styles.items():
                own = [row for row in rows if row["label"] == label and row["data"] == name]
                ax.plot(
                    [row["rows"] for row in own], [row[field] for row in own], marker="o", ms=3, label=label, **style
                )
            ax.set(xscale="log", yscale=scale, title=name if ax in axes[0] else "")
            ax.grid(alpha=0.3)
        line[0].set_ylabel(title)
    for ax in axes[-1]:
        ax.set_xlabel("rows")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    return figure


def _structure(rows: list[Row]) -> Any:
    """Time against what is lacking to the best score of the case, a panel for each number of columns."""
    sizes, styles = list(dict.fromkeys(row["columns"] for row in rows)), _styles(_labels(rows))
    figure, axes = plt.subplots(1, len(sizes), figsize=(5.4 * len(sizes), 4.2), squeeze=False, layout="constrained")
    for ax, columns in zip(axes[0], sizes, strict=True):
        own = [row for row in rows if row["columns"] == columns]
        best = {n: max(row["score"] for row in own if row["rows"] == n) for n in {row["rows"] for row in own}}
        for label, style in styles.items():
            mine = [row for row in own if row["label"] == label]
            lacking = [max((best[row["rows"]] - row["score"]) / row["rows"], 1e-6) for row in mine]
            ax.plot([row["seconds"] for row in mine], lacking, marker="o", ms=4, label=label, **style)
        ax.set(xscale="log", yscale="log", title=f"{columns} columns, 1,000 to 100,000 rows", xlabel="warm seconds")
        ax.grid(alpha=0.3)
    axes[0, 0].set_ylabel("nats a row below the best (floor 1e-6)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8)
    return figure


def _density(rows: list[Row]) -> Any:
    """Held-out log-likelihood minus that of the paper's method with the paper's structure."""
    rows = [row for row in expanded(rows) if "score" in row]
    base = {
        row["data"]: row["score"]
        for row in rows
        if row["label"] == "jaxbn bayesian" and row["structure"] == density.GIVEN
    }
    names, kinds = list(base), (density.GIVEN, density.LEARNED)
    marks, styles = dict(zip(_labels(rows), "osv^DPX*<>", strict=False)), _styles(_labels(rows))
    figure, axes = plt.subplots(1, 2, figsize=(12, 0.42 * len(names) + 2.2), sharey=True, layout="constrained")
    for ax, kind in zip(axes, kinds, strict=True):
        for label, mark in marks.items():
            own = [row for row in rows if row["structure"] == kind and row["label"] == label and row["data"] in base]
            places = [row["score"] - base[row["data"]] for row in own]
            heights = [names.index(row["data"]) for row in own]
            ax.plot(places, heights, mark, ms=7, alpha=0.75, color=styles[label]["color"], label=label)
        ax.axvline(0, color="0.5", lw=1)
        ax.set(title=f"with a {kind}" if kind == density.LEARNED else f"with the {kind}", xlabel=DENSITY_AXIS)
        ax.set_xscale("symlog", linthresh=1.0)
        ax.set_xticks(DENSITY_TICKS, [f"{tick:+g}" if tick else "0" for tick in DENSITY_TICKS])
        ax.set_yticks(np.arange(len(names)), names)
        ax.grid(alpha=0.3)
    handles = dict(pair[::-1] for ax in axes for pair in zip(*ax.get_legend_handles_labels(), strict=True))
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=4, fontsize=8)
    return figure
