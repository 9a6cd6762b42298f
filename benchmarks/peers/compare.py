"""Every program held against jaxbn, case by case: who is faster, who is better, and by how much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.peers.jobs import Row
from benchmarks.peers.markdown import factor, ratio, span, table
from benchmarks.peers.tasks import density, structure

Pick = Callable[[Row], Any]

BASE = {
    "cuts": ("jaxbn bayesian",),
    "fixed": ("jaxbn bayesian",),
    "structure": ("jaxbn K2, true order", f"jaxbn K2, {structure.RESTARTS} random orders"),
    "density": ("jaxbn bayesian",),
    "use": ("jaxbn",),
}
"""The row that the others of its case are held against; who is not told the order is held against who is not."""

QUALITY: dict[str, tuple[tuple[str, Pick], ...]] = {
    "cuts": (
        ("ln P(class given bin)", lambda row: row.get("class_score")),
        ("ln p(column given class)", lambda row: row.get("column_score")),
    ),
    "fixed": (("ln p(row)", lambda row: row.get("score")),),
    "structure": (("K2 score, a row", lambda row: row["score"] / row["rows"] if "score" in row else None),),
    "density": (("held-out ln p(row)", lambda row: row.get("score")),),
    "use": (("largest error of a probability", lambda row: row.get("difference")),),
}
"""What is good in each task: higher is better, but for errors, which are not set against one another."""

NOTICED = {"cuts": 0.001, "structure": 0.0001}
"""Differences of quality that count, in nats a row; 0.01 elsewhere."""


def expanded(rows: Sequence[Row]) -> list[Row]:
    """Cuts that were tried with both structures as two rows."""
    result = []
    for row in rows:
        if row.get("structure") != "both":
            result.append(row)
            continue
        for kind in (density.GIVEN, density.LEARNED):
            own = {name: value for name, value in row.items() if name not in (density.GIVEN, density.LEARNED)}
            result.append(own | {"structure": kind} | row.get(kind, {}))
    return result


def times_as_long(task: str, rows: Sequence[Row], row: Row) -> float | None:
    """A program's warm time over that of jaxbn's row of the same case."""
    base = _base(task, rows, row)
    return None if base is None or "seconds" not in row else _time(row) / _time(base)


def _case(row: Row) -> tuple[Any, ...]:
    names = (
        ("what",) if "what" in row else ("data", "columns", "structure", "rows", "order")
    )  # of a question a part may do
    return tuple(row.get(name) for name in names)


def _base(task: str, rows: Sequence[Row], row: Row) -> Row | None:
    same = [r for r in rows if r["label"] in BASE[task] and _case(r) == _case(row) and "seconds" in r]
    return same[0] if same else None


def _time(row: Row) -> float:
    return row.get("per_100k", row["seconds"])


def summary(tasks: dict[str, list[Row]]) -> str:
    """One table of everything: each program against jaxbn's first row, over all cases of a task."""
    lines = []
    for task, found in tasks.items():
        rows = expanded(found)
        for label in dict.fromkeys(row["label"] for row in rows):
            own = [row for row in rows if row["label"] == label]
            times = [t for row in own if (t := times_as_long(task, rows, row)) is not None]
            answered = sum("failure" not in row for row in own)
            quality = [f"{name} {text}" for name, pick in QUALITY[task] if (text := _against(task, rows, own, pick))]
            is_base = label in BASE[task]
            long = "1" if is_base else span(times, ratio)
            lines.append([task, label, f"{answered} of {len(own)}", long, "; ".join(quality)])
    header = (
        "task",
        "program",
        "answered",
        "times as long as jaxbn",
        "its quality minus jaxbn's (above 0: it is better)",
    )
    return "## In one table\n\n" + table(header, lines)


def _against(task: str, rows: Sequence[Row], own: Sequence[Row], pick: Pick) -> str:
    if task == "use":
        return span([pick(row) for row in own if pick(row) is not None], lambda v: f"{v:.0e}")
    values = []
    for row in own:
        base = _base(task, rows, row)
        if base is not None and base is not row and pick(row) is not None and pick(base) is not None:
            values.append(pick(row) - pick(base))
    return span(values, lambda v: f"{v:+.3f}")


def behind(tasks: dict[str, list[Row]]) -> str:
    """Every program that is faster than jaxbn's first row by a tenth, or better than the best of jaxbn's rows."""
    lines = []
    for task, found in tasks.items():
        rows = expanded(found)
        theirs = [row for row in rows if not row["label"].startswith("jaxbn")]
        for label in dict.fromkeys(row["label"] for row in theirs):
            own = [row for row in theirs if row["label"] == label]
            cells = [_slower(task, rows, own), "; ".join(_worse(task, rows, own))]
            if any(cells):
                lines.append([task, label, *cells])
    note = (
        "Time: jaxbn's warm time of its first row over the other's, where that is above 1.1. Quality: by how much\n"
        "the other is better than the best of jaxbn's rows of the case, where that is more than 0.01 nats a row\n"
        "(cuts 0.001, structure 0.0001). Equal width and equal frequency count as others here."
    )
    header = ("task", "program", "jaxbn takes this many times as long", "jaxbn's quality is behind by")
    return f"## Where jaxbn is behind\n\n{note}\n\n" + (table(header, lines) if lines else "Nowhere.")


def _slower(task: str, rows: Sequence[Row], own: Sequence[Row]) -> str:
    times = [t for row in own if (t := times_as_long(task, rows, row)) is not None]
    slower = [1 / t for t in times if t < 1 / 1.1]
    return f"{span(slower, factor)} (in {len(slower)} of {len(times)} cases)" if slower else ""


def _worse(task: str, rows: Sequence[Row], own: Sequence[Row]) -> list[str]:
    """For each measure of quality: by how much a program is better than jaxbn's best, and in how many cases."""
    text = []
    for name, pick in QUALITY[task] if task != "use" else ():
        leads = []
        for row in own:
            best = [pick(r) for r in rows if r["label"].startswith("jaxbn") and _case(r) == _case(row)]
            best = [value for value in best if value is not None]
            if best and pick(row) is not None:
                leads.append(pick(row) - max(best))
        ahead = [lead for lead in leads if lead > NOTICED.get(task, 0.01)]
        if ahead:
            text.append(f"{name}: {span(ahead, lambda v: f'{v:.3g}')} (in {len(ahead)} of {len(leads)} cases)")
    return text
