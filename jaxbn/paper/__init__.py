"""The paper's tables and figures, computed again and set beside the published ones."""

from __future__ import annotations

from pathlib import Path


def run(output: Path, quick: bool = False, force: bool = False) -> Path:
    """Compute everything and write it into a directory; see ``jaxbn.paper.page.write_all``.

    Args:
        output: the directory; made if it does not exist.
        quick: a part that takes less than two minutes.
        force: replace the page of an earlier run.

    Returns:
        The page, a Markdown file.
    """
    from jaxbn.paper.page import write_all  # draws and computes: not needed for the published figures alone

    return write_all(output, quick, force)
