"""One self-contained HTML page about a network."""

from jaxbn.reporting.page import report

__all__ = ["report"]
