"""Results: on standard output for people or as JSON, and in files.

Files are checked before the work starts, written in one step, and replaced only if asked to.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxbn.cli.errors import CommandError, tell
from jaxbn.inputs.later import nx, pd
from jaxbn.runtime import files

if TYPE_CHECKING:
    from jaxbn.learning.discretize import Discretization
    from jaxbn.model.bayesnet import BayesNet

WIDE = 120  # characters of a line where there is no terminal

MOST_GROUPS = 10  # of a variable that are listed

written: list[str] = []  # files that this command has written


def check_free(paths: Iterable[Path | None], force: bool) -> None:
    """Refuse, before anything is computed, outputs that exist or cannot be written."""
    written.clear()
    named = [path for path in paths if path is not None]
    for i, path in enumerate(named):
        if path in named[:i]:
            raise CommandError(f"{str(path)!r} is named for two outputs; give each its own file")
        if path.is_dir():
            raise CommandError(f"cannot write {str(path)!r}: it is a directory; name a file in it")
        if path.exists() and not force:
            raise CommandError(f"{str(path)!r} exists and is kept; pass --force to replace it, or name another file")
        folder = path.parent
        if not folder.is_dir():
            raise CommandError(f"cannot write {str(path)!r}: there is no directory {str(folder)!r}; make it first")
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise CommandError(
                f"cannot write {str(path)!r}: {error.strerror or error} in {str(folder)!r}; choose another directory"
            ) from None


def write(path: Path, content: str | bytes | Callable[[Path], Any]) -> None:
    """Write a text or bytes, or call a function of the library that writes the file; it is replaced in one step."""
    try:
        if callable(content):
            content(path)
        else:
            files.write_bytes(path, content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise CommandError(f"cannot write {str(path)!r}: {error.strerror or error}") from None
    written.append(str(path))
    tell(f"wrote {path}")


def put(result: Any, out: Path | None = None, *, as_json: bool = True) -> None:
    """Write anything as JSON, or rows as CSV, to a file, by default to standard output."""
    text = json.dumps(_plain(result), indent=1, allow_nan=False) + "\n" if as_json else result.to_csv(index=False)
    if out is not None:
        write(out, text)
    else:
        sys.stdout.write(text)
        sys.stdout.flush()


def _plain(value: Any) -> Any:
    """The value as JSON can hold it: frames by rows, binnings by their cuts, NaN and infinities as null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "to_csv"):
        return _plain(value.to_dict("records"))
    if hasattr(value, "cuts") or hasattr(value, "groups"):
        return _plain(value.cuts if hasattr(value, "cuts") else value.groups)
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and value - value != 0:  # nan or infinite
        return None
    return str(value) if isinstance(value, Path) else value


def network(net: BayesNet) -> None:
    """A line for each variable: parents, number of states, cuts."""
    from jaxbn.cuts.words import few_cuts
    from jaxbn.inputs.checks import few
    from jaxbn.model.words import count_states, cuts_in_words, is_cut, worth

    def content(name: str) -> str:
        if name in net.groupings:
            return few_cuts(net.groupings[name].labels, " | ", MOST_GROUPS)
        if name in net.levels:
            levels = [str(level) for level in net.levels[name]]
            shown = "".join(levels[:8])
            return few(levels, 8, "…", "; " if "," in shown else ", " if " " in shown else " ")
        return cuts_in_words(net, name, " ") if is_cut(net, name) else ""

    rows = [(name, ", ".join(found), count_states(net, name), content(name)) for name, found in net.parents.items()]
    table(("variable", "parents", "states", "cuts or levels"), rows)
    arcs = len(net.arcs)
    say(f"{arcs} arc{'s' * (arcs != 1)}, {net.n_rows:,} rows" + (f", {words}" if (words := worth(net)) else ""))


def discretization(found: Discretization) -> None:
    """A line for each variable that was cut or grouped."""
    from jaxbn.cuts.words import cut_words, few_cuts

    def line(name: str) -> tuple[str, str, str]:
        n = found.codings[name].n_bins
        if name in found.groupings:
            return name, f"{n} group{'s' * (n != 1)}", few_cuts(found.groupings[name].labels, " | ", MOST_GROUPS)
        binning = found.binnings[name]
        return (name, f"{n} bins", cut_words(binning, " ")) if binning.is_cut else (name, "not cut", "")

    table(("variable", "states", "cuts"), map(line, found.codings))
    say(f"{found.passes} passes, {'converged' if found.converged else 'not converged: raise --max-passes'}")


def scores(found: pd.DataFrame, note: str) -> None:
    """A line for each method, and a note if there is one."""
    from jaxbn.evaluation.compare import SCORES, scores_in_words

    table(SCORES, scores_in_words(found), numbers=(1, 2, 3))
    if note:
        say(note)


def consensus(graph: nx.DiGraph, word: str, threshold: float) -> None:
    """The arcs that networks agree on, and by what."""
    arcs = ", ".join(f"{parent} -> {child}" for parent, child in graph.edges) or "no arc"
    say(f"consensus, {word} above {threshold:g}: {arcs}")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> None:
    """A table as wide as the terminal, or as ``WIDE`` where there is none."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, title in enumerate(head):
        made.add_column(Text(title), justify="right" if i in numbers else "left", overflow="fold")
    for row in rows:
        made.add_row(*map(Text, row))
    Console(highlight=False, width=None if sys.stdout.isatty() else WIDE).print(made)


def say(line: str) -> None:
    """A line of the result."""
    sys.stdout.write(line + "\n")
