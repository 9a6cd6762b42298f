"""The progress bar of a notebook, which needs no ipywidgets."""

from __future__ import annotations

import sys
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

CELL = """
import sys
sys.modules["ipywidgets"] = None  # not installed, whatever the machine has
import warnings
warnings.simplefilter("error")
from jaxbn.runtime.progress import Progress

with Progress(True, 2, 5) as progress:
    progress.watch(0, 3, 1)
    progress.finished(0, -12.5)
    progress.finished(1, -13.5)
"""


@pytest.mark.filterwarnings("ignore")
def test_a_notebook_without_ipywidgets_shows_the_bar() -> None:
    import nbformat

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    nbclient.NotebookClient(book, kernel_name="python3", timeout=120).execute()
    outputs: list[Any] = book.cells[0].outputs
    assert [output.output_type for output in outputs] == ["display_data"], outputs  # one, replaced in place
    text = outputs[0].data["text/plain"]
    assert text.startswith("100% 2/2 restarts, 1 arcs, best -12.50, 0:0")
    assert '<progress value="10" max="10">' in outputs[0].data["text/html"]


def test_nothing_is_shown_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    """Also where a package of kernels is loaded outside a notebook."""
    from jaxbn.runtime.progress import Progress

    assert "ipykernel" in sys.modules
    with Progress(True, 1, 1) as progress:
        progress.finished(0)
    assert capsys.readouterr() == ("", "")
