"""A progress bar whose end is the end of the work."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import Self

EVERY = 0.1  # seconds between two pictures in a notebook
LINES = 30.0  # seconds between two lines where standard error is neither a terminal nor a notebook


class Steps:
    """A bar on standard error over a number of like steps."""

    def __init__(self, shown: bool, total: int, noun: str, words: str = "") -> None:
        self._total, self._noun = total, noun
        self._bar = _bar_for(total, words or f"0/{total} {noun}") if shown else None

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def done(self, count: int) -> None:
        """So many steps are done."""
        if self._bar is not None:
            self._bar.update(count, f"{count}/{self._total} {self._noun}")


class Progress(Steps):
    """A bar on standard error over the settled variables of all restarts, with restarts done, and the best one's arcs.

    Before one is done, the arcs are those of the restart that has the most.
    """

    def __init__(self, shown: bool, n_restarts: int, n_variables: int, noun: str = "restarts") -> None:
        super().__init__(shown, n_restarts * n_variables, noun, "starting")
        self._variables, self._n_variables = [0] * n_restarts, n_variables
        self._arcs = [0] * n_restarts
        self._done, self._last = 0, ""
        self._best, self._best_restart = float("-inf"), None  # type: tuple[float, int | None]

    def watch(self, restart: int, variables: int, arcs: int) -> None:
        """Note how many variables a restart has settled and how many arcs it has accepted."""
        self._variables[restart], self._arcs[restart] = variables, arcs
        self._show()

    def finished(self, restart: int, criterion: float = float("-inf")) -> None:
        """One restart has ended."""
        self._variables[restart] = self._n_variables
        self._done += 1
        if criterion > self._best:
            self._best, self._best_restart = criterion, restart
        self._show()

    def last_steps(self, arcs: int, criterion: float) -> None:
        """All restarts have ended; what became of the best one by now."""
        self._best = max(self._best, criterion)
        self.say(f"finishing the best of {self._done} {self._noun}, {arcs} arcs, {self._best:.2f}")

    def say(self, words: str) -> None:
        """What is being done at the end."""
        self._last = words
        self._show()

    def _show(self) -> None:
        if self._bar is not None:
            arcs = max(self._arcs) if self._best_restart is None else self._arcs[self._best_restart]
            text = f"{self._done}/{len(self._variables)} {self._noun}, {arcs} arcs"
            if self._best > float("-inf"):
                text += f", best {self._best:.2f}"
            self._bar.update(sum(self._variables), self._last or text)


def _bar_for(total: int, words: str) -> _Terminal | _Lines:
    """The bar that suits standard error; IPython may be loaded outside of a notebook's kernel."""
    if sys.stderr.isatty():
        return _Terminal(total, words)
    ipython = sys.modules.get("IPython")
    in_a_notebook = ipython is not None and hasattr(ipython.get_ipython(), "kernel")
    return (_Notebook if in_a_notebook else _Lines)(total, words)


class _Terminal:
    def __init__(self, total: int, words: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TextColumn("{task.description}"))
        console = Console(stderr=True)
        self._rich = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console)
        self._task = self._rich.add_task(words, total=total)
        self.start, self.stop = self._rich.start, self._rich.stop

    def update(self, completed: int, words: str) -> None:
        self._rich.update(self._task, completed=completed, description=words)


class _Lines:
    """A line every so often, for logs: nothing for work that is soon done."""

    every = LINES

    def __init__(self, total: int, words: str) -> None:
        self._total, self._completed, self._words = max(total, 1), 0, words
        self._begun = self._last = time.monotonic()

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def update(self, completed: int, words: str) -> None:
        self._completed, self._words = completed, words
        if time.monotonic() >= self._last + self.every:
            self._last = time.monotonic()
            self._draw()

    def _text(self) -> str:
        taken = int(time.monotonic() - self._begun)
        return f"{self._completed / self._total:.0%} {self._words}, {taken // 60}:{taken % 60:02d}"

    def _draw(self) -> None:
        print(f"jaxbn: {self._text()}", file=sys.stderr, flush=True)


class _Notebook(_Lines):
    """A bar for notebooks that needs nothing else: a line of HTML that IPython's own display replaces in place."""

    every = EVERY

    def start(self) -> None:
        from IPython.display import display

        self._handle = display(self._bundle(), raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def _draw(self) -> None:
        self._handle.update(self._bundle(), raw=True)

    stop = _draw

    def _bundle(self) -> dict[str, str]:
        bar = f'<progress value="{self._completed}" max="{self._total}"></progress>'
        return {"text/plain": self._text(), "text/html": f"<div>{bar} {escape(self._text())}</div>"}
