"""The page: one table of everything, where jaxbn is behind, then each task with its checks and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.peers import compare, plots, tables
from benchmarks.peers.jobs import Row

PAGE = "RESULTS.md"
TABLES = {
    "cuts": tables.of_cuts,
    "fixed": tables.of_fixed,
    "structure": tables.of_structure,
    "density": tables.of_density,
    "use": tables.of_use,
}
HOW = """Times: **first** is the first call in a new process (jaxbn compiles then), **warm** the best of the later ones,
data read and the program imported; a call of more than 3 s is not repeated, but jaxbn's is (not where it learns
a structure in every fold). Memory is the largest resident size of the process, everything included. *Times as
long* is a program's warm time over that of jaxbn's first row of the case: **above 1 jaxbn is faster**, below 1
(in bold) the other one is."""


def short(row: Row) -> str:
    """A row in one line, for who watches the run."""
    wanted = ("first", "seconds", "start_up", "bins", "class_score", "column_score", "score", "difference")
    return ", ".join(f"{name} {row[name]:.4g}" for name in wanted if isinstance(row.get(name), int | float))


def write(results: dict[str, Any], output: Path) -> None:
    """The page and its pictures."""
    found = {name: results["tasks"][name] for name in TABLES if name in results["tasks"]}
    rows = {name: task["rows"] for name, task in found.items()}
    pictures = plots.write(rows, output)
    parts = [_head(results), compare.summary(rows), compare.behind(rows)]
    for name, task in found.items():
        parts += [TABLES[name](rows[name]), _checks(task)]
        parts += [f"![{name}]({picture})" for picture in pictures.get(name, ())]
    if "footprint" in results:
        parts.append(tables.of_footprint(results["footprint"]))
    (output / PAGE).write_text("\n\n".join(part for part in parts if part) + "\n")


def _head(results: dict[str, Any]) -> str:
    machine, tasks = results["machine"], results["tasks"].values()
    minutes = sum(task["seconds"] for task in tasks) / 60
    loads = [task[when] for task in tasks for when in ("load_before", "load_after") if when in task]
    load = f"{min(loads):.1f} to {max(loads):.1f}" if loads else "unknown"
    place = (
        f"{machine['cores']} cores ({machine['processor']}, {machine['system']}), no GPU, Python {machine['python']}"
    )
    return f"""# jaxbn beside its peers

Written by `python -m benchmarks.peers`; do not edit. One virtual environment for each peer, the same data for
all, every answer scored by the same NumPy code (`scoring.py`): tables with α = 1, no probability is zero, no
row is dropped.

On {place}. The tasks took {minutes:.0f} minutes, without the making of the environments. Load average between
tasks: {load}; much above 1 means that other work ran beside it, and then ratios count for more than seconds.

{_versions(results)}

{HOW}"""


def _versions(results: dict[str, Any]) -> str:
    lines = [results.get("versions", {})]
    failures = []
    for each in results.get("environments", {}).values():
        lines.append(each["versions"])
        failures += [f"- **{each['peer']} did not install: {each['error']}**"] if each["error"] else []
    named = [", ".join(f"{name} {version}" for name, version in line.items()) for line in lines if line]
    return "\n".join([f"- {line}" for line in named] + failures)


def _checks(task: dict[str, Any]) -> str:
    broken = [check["what"] for check in task["checks"] if not check["holds"]]
    text = f"Checks: {len(task['checks']) - len(broken)} of {len(task['checks'])} hold."
    text += "" if "load_after" in task else " **This task was not run to its end; `--resume` goes on with it.**"
    text += f" **This task was broken off: {task['failure']}**" if "failure" in task else ""
    return text + "".join(f"\n- **does not hold**: {what}" for what in broken)
