"""A progress bar whose end is the end of the work."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from html import escape
from types import TracebackType
from typing import Any, Protocol

EVERY = 0.1
"""Seconds between two pictures in a notebook."""

LINES = 30.0
"""Seconds between two lines where standard error is neither a terminal nor a notebook."""


class Bar(Protocol):
    """What shows how far work has come."""

    def start(self) -> None: ...  # noqa: D102

    def update(self, completed: int, words: str) -> None: ...  # noqa: D102

    def stop(self) -> None: ...  # noqa: D102


def bar_for(total: int) -> Bar:
    """The bar that suits standard error."""
    if sys.stderr.isatty():
        return _RichBar(total)
    return NotebookBar(total) if _in_a_notebook() else _Lines(total)


class Steps(AbstractContextManager["Steps"]):
    """A bar on standard error over a number of like steps."""

    def __init__(self, shown: bool, total: int, noun: str) -> None:
        self._total, self._noun = total, noun
        self._bar = bar_for(total) if shown else None

    def __enter__(self) -> Steps:
        if self._bar is not None:
            self._bar.start()
            self.done(0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def done(self, count: int) -> None:
        """So many steps are done."""
        if self._bar is not None:
            self._bar.update(count, f"{count}/{self._total} {self._noun}")


class Progress(AbstractContextManager["Progress"]):
    """A bar on standard error over the settled variables of all restarts, with restarts done, and the best one's arcs.

    Before one is done, the arcs are those of the restart that has the most.
    """

    def __init__(self, shown: bool, n_restarts: int, n_variables: int, noun: str = "restarts") -> None:
        self._noun = noun
        self._variables = [0] * n_restarts
        self._arcs = [0] * n_restarts
        self._n_variables = n_variables
        self._done = 0
        self._best = float("-inf")
        self._best_restart: int | None = None
        self._last = ""
        self._bar: Bar | None = None
        self._shown = shown

    def __enter__(self) -> Progress:
        if self._shown:
            self._bar = bar_for(len(self._variables) * self._n_variables)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

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
        self._last = f"finishing the best of {self._done} {self._noun}, {arcs} arcs, {self._best:.2f}"
        self._show()

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


def _in_a_notebook() -> bool:
    """Whether the program runs in a notebook's kernel; IPython may be loaded without one."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class _Lines:
    """A line every so often, for logs: nothing for work that is soon done."""

    def __init__(self, total: int) -> None:
        self._total, self._begun = max(total, 1), time.monotonic()
        self._last = self._begun

    def start(self) -> None:
        pass

    def update(self, completed: int, words: str) -> None:
        now = time.monotonic()
        if now >= self._last + LINES:
            self._last = now
            taken = int(now - self._begun)
            share = f"{completed / self._total:.0%}"
            print(f"jaxbn: {share} {words}, {taken // 60}:{taken % 60:02d}", file=sys.stderr, flush=True)

    def stop(self) -> None:
        pass


class _RichBar:
    """The bar of a terminal."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TextColumn("{task.description}"))
        console = Console(stderr=True)
        self._rich = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console)
        self._task = self._rich.add_task("starting", total=total)

    def start(self) -> None:
        self._rich.start()

    def update(self, completed: int, words: str) -> None:
        self._rich.update(self._task, completed=completed, description=words)

    def stop(self) -> None:
        self._rich.stop()


class NotebookBar:
    """A bar for notebooks that needs nothing else: a line of HTML that IPython's own display replaces in place."""

    def __init__(self, total: int) -> None:
        self._total = max(total, 1)
        self._completed = 0
        self._words = "starting"
        self._start = time.monotonic()
        self._last = float("-inf")
        self._handle: Any = None

    def start(self) -> None:
        """Show the bar."""
        from IPython.display import display

        self._handle = display(self._bundle(), raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def update(self, completed: int, words: str) -> None:
        """Set what is done and the words beside it; the picture changes at most every `EVERY` seconds."""
        self._completed, self._words = completed, words
        if time.monotonic() - self._last >= EVERY:
            self._draw()

    def stop(self) -> None:
        """Show the last state."""
        self._draw()

    def _draw(self) -> None:
        self._last = time.monotonic()
        if self._handle is not None:
            self._handle.update(self._bundle(), raw=True)

    def _bundle(self) -> dict[str, str]:
        taken = int(time.monotonic() - self._start)
        share = self._completed / self._total
        text = f"{share:.0%} {self._words}, {taken // 60}:{taken % 60:02d}"
        bar = f'<progress value="{self._completed}" max="{self._total}"></progress>'
        return {"text/plain": text, "text/html": f"<div>{bar} {escape(text)}</div>"}
