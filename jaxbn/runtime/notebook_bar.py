"""A progress bar for notebooks that needs nothing but the notebook: a line of HTML that is replaced in place."""

from __future__ import annotations

import time
from html import escape
from typing import Any

EVERY = 0.1  # seconds between two pictures


class NotebookBar:
    """A bar with a percentage, words, and the time taken, shown by IPython's own display.

    Args:
        total: the work there is.
    """

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
