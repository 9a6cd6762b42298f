"""The notebooks run from top to bottom: they cannot rot."""

import importlib
import os
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
NOTEBOOKS = sorted((DOCS.parent / "notebooks").glob("*.md"))


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 3


@pytest.fixture
def run_notebooks(monkeypatch):
    for needed in ("jupytext", "nbclient"):
        pytest.importorskip(needed)
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("run_notebooks")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the kernel's own libraries, not ours
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, run_notebooks):
    notebook = run_notebooks.executed(path)
    assert all(cell.get("execution_count") for cell in notebook.cells if cell.cell_type == "code")
    if folder := os.environ.get("JAXBN_NOTEBOOKS"):  # the documentation shows them and need not run them again
        Path(folder).mkdir(parents=True, exist_ok=True)
        run_notebooks.nbformat.write(notebook, Path(folder) / f"{path.stem}.ipynb")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("cell", "fault"),
    [
        ("print('2 nan, 3 nan')", "cell 0 shows NaN: 2 nan"),
        ("import warnings; warnings.warn('old')", "cell 0 warns: .*old"),
        ("import matplotlib.pyplot as plt; _ = plt.plot([0, 1], [float('nan')] * 2)", "cell 0 warns: .*no data"),
    ],
)
def test_what_should_not_be_shown_is_an_error(cell, fault, run_notebooks, tmp_path):
    source = tmp_path / "n.md"
    source.write_text(f"```python\n{cell}\n```\n")
    with pytest.raises(ValueError, match=rf"n\.md: {fault}"):
        run_notebooks.executed(source)
