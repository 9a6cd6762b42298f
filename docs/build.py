"""Build the documentation: run the notebooks, list the commands, then Sphinx; warnings are errors.

So are NaN and plots without data in what the notebooks show.

    python docs/build.py [FOLDER]

The pages go to FOLDER, by default ``docs/_build/html``. If the environment variable ``JAXBN_NOTEBOOKS`` names a folder
with executed notebooks (the tests leave them there), these are not run a second time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from run_notebooks import executed
from sphinx.cmd.build import main as sphinx

HERE = Path(__file__).parent
SOURCES = sorted((HERE.parent / "notebooks").glob("*.md"))


def place_notebooks(folder: Path) -> None:
    """Executed notebooks, in the folder that the pages link to."""
    folder.mkdir(exist_ok=True)
    known = os.environ.get("JAXBN_NOTEBOOKS")
    for source in SOURCES:
        target = folder / f"{source.stem}.ipynb"
        earlier = Path(known) / target.name if known else None
        if earlier is not None and earlier.exists():
            shutil.copyfile(earlier, target)
        elif not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
            print(f"running {source.name}", flush=True)
            nbformat.write(executed(source), target)


def list_commands(page: Path) -> None:
    """The command line's own help as a page."""
    words = ["utils", "docs", "--name", "jaxbn", "--title", "Command line", "--output", str(page)]
    subprocess.run([sys.executable, "-m", "typer", "jaxbn.cli.app", *words], check=True, stdout=subprocess.DEVNULL)


def main() -> int:
    """Build all pages; the exit code is Sphinx's."""
    place_notebooks(HERE / "notebooks")
    list_commands(HERE / "commands.md")
    target = sys.argv[1] if len(sys.argv) > 1 else str(HERE / "_build" / "html")
    return sphinx(["-W", "--keep-going", "-q", "-b", "html", str(HERE), target])


if __name__ == "__main__":
    sys.exit(main())
