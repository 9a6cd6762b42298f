"""The page of `benchmarks/structure.py`: one table for each number of rows, and who wins where."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.peers.jobs import Row
from benchmarks.peers.markdown import table

HEADER = (
    "network", "search", "nats above the generating structure", "links found", "false links", "turned", "distance",
    "gap", "processor s", "times pyAgrum's", "MB",
)  # fmt: skip
RIVAL = "pyAgrum hill climbing"
INTRO = """# Structures: jaxbn beside its peers

Written by `python benchmarks/structure.py`. The same rows for everyone, at most as many parents as the generating
structure has (causal-learn has no such limit). K2 score by one scorer, given as nats of the whole table above the
generating structure. Links and directions on the completed partially directed graph: a link is found whatever its
direction, `turned` if it is directed in another way than in the true class, and the distance is missing, false and
turned links together. Processor seconds of the search alone, all threads together; memory is the largest resident
size of the process, libraries included. PyBNesian and causal-learn have no K2 score and search by a Dirichlet score
of equal weights, pomegranate by a description length, with a pseudocount of 0.001: without one, its default, families
with an empty cell score "not a number" and count as free.

`jaxbn orders` is the default search, `first` one start without blocks. The gap, in nats, is what another structure of
the families that were scored might have more; `exact` has proved that there is none. Finding the gap is not part of the
time. Every search has a limit of processor seconds, its imports and repeats included (60 for jaxbn and pyAgrum, 30 for
the others, by `--timeout`); one that needs more is not asked about tables with at least as many rows and columns.
"""


def line(row: Row) -> str:
    """A row in one line, for the terminal."""
    if "failure" in row:
        return f"{row['network']} {row['rows']} {row['label']}: {row['failure']}"
    return (
        f"{row['network']} {row['rows']} {row['label']}: {row['above']:+.1f}, "
        f"distance {row['distance']}, {row['cpu']:.2f} s, {row['megabytes']:.0f} MB"
    )


def page(rows: Sequence[Row]) -> str:
    """The whole page."""
    parts = [INTRO, "## Where a peer is ahead\n\n" + ahead(rows)]
    for n_rows in sorted({row["rows"] for row in rows}):
        same = [row for row in rows if row["rows"] == n_rows]
        parts.append(f"## {n_rows:,} rows\n\n" + table(HEADER, [_cells(row, same) for row in same]))
    return "\n\n".join(parts) + "\n"


def _cells(row: Row, rows: Sequence[Row]) -> list[str]:
    name = f"{row['network']} ({row['columns']} columns, {row['limit']} parents)"
    if "failure" in row:
        return [name, row["label"], row["failure"], *[""] * (len(HEADER) - 3)]
    rival = [r for r in rows if r["label"] == RIVAL and r["network"] == row["network"] and "cpu" in r]
    ratio = f"{row['cpu'] / rival[0]['cpu']:.1f}" if rival and rival[0]["cpu"] > 0 else ""
    return [
        name, row["label"], f"{row['above']:+.1f}", f"{row['found']} of {row['found'] + row['missing']}",
        str(row["false"]), str(row["turned"]), str(row["distance"]), _gap(row), f"{row['cpu']:.2f}", ratio,
        f"{row['megabytes']:.0f}",
    ]  # fmt: skip


def _gap(row: Row) -> str:
    return f"{row['gap']:,.1f}" if "gap" in row else ""


def ahead(rows: Sequence[Row]) -> str:
    """Cases in which the score of a peer is above jaxbn's best, or jaxbn's is below the generating structure."""
    lines = []
    for network, n_rows in dict.fromkeys((row["network"], row["rows"]) for row in rows):
        same = [r for r in rows if (r["network"], r["rows"]) == (network, n_rows) and "above" in r]
        ours = [r["above"] for r in same if r["label"] in ("jaxbn orders", "jaxbn exact")]
        if not ours:
            continue
        theirs = [r for r in same if r["peer"] != "jaxbn" and r["most_parents"] <= r["limit"]]
        lines += [
            [network, f"{n_rows:,}", r["label"], f"{r['above'] - max(ours):.2f}"]
            for r in theirs
            if r["above"] > max(ours) + 1e-6
        ]
        if max(ours) < -1e-6:
            lines.append([network, f"{n_rows:,}", "the generating structure", f"{-max(ours):.2f}"])
    return table(("network", "rows", "who", "nats ahead of jaxbn"), lines) if lines else "Nowhere, by the score."
