"""Run a notebook, and say what in its outputs should not be shown: NaN, warnings, plots without data."""

from __future__ import annotations

import os
import re
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

EMPTY_PLOTS = """
def say_which_plots_are_empty():
    import sys, math
    pyplot = sys.modules.get("matplotlib.pyplot")
    for number in pyplot.get_fignums() if pyplot else ():
        for i, axes in enumerate(pyplot.figure(number).axes):
            if not all(map(math.isfinite, axes.dataLim.extents)):
                print(f"axes {i} of a figure have no data", file=sys.stderr)
get_ipython().events.register("post_execute", say_which_plots_are_empty)
"""
"""Runs in the kernel after every cell, before figures are shown and closed."""

NAN = re.compile(r"(?<![\w.])-?nan(?!\w)", re.IGNORECASE)


def executed(source: Path) -> nbformat.NotebookNode:
    """A notebook with its outputs.

    Raises:
        ValueError: something in the outputs should not be shown.
    """
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    notebook = jupytext.read(source)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(EMPTY_PLOTS))
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": "."}}).execute()
    del notebook.cells[0]
    if found := faults(notebook):
        raise ValueError(f"{source.name}: " + "; ".join(found))
    return notebook


def faults(notebook: nbformat.NotebookNode) -> list[str]:
    """Everything that was written to the error stream, and every NaN, by cell."""
    found = []
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", ()):
            text = "".join(output.get("text", "") or output.get("data", {}).get("text/plain", ""))
            if output.output_type == "stream" and output.name == "stderr":
                found.append(f"cell {number} warns: {text.strip()}")
            elif NAN.search(text):
                found.append(f"cell {number} shows NaN: {text.strip()}")
    return found
