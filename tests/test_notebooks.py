"""The notebooks run from top to bottom: they cannot rot."""

import os
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.md"))


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the kernel's own libraries, not ours
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, monkeypatch):
    jupytext = pytest.importorskip("jupytext")
    client = pytest.importorskip("nbclient")
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    notebook = jupytext.read(path)
    client.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": "."}}).execute()
    assert all(cell.get("execution_count") for cell in notebook.cells if cell.cell_type == "code")
    if folder := os.environ.get("JAXBN_NOTEBOOKS"):  # the documentation shows them and need not run them again
        Path(folder).mkdir(parents=True, exist_ok=True)
        jupytext.write(notebook, Path(folder) / f"{path.stem}.ipynb")
