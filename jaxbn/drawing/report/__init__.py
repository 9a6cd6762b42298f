"""One self-contained HTML page about a network."""

from jaxbn.drawing.report.page import report

__all__ = ["report"]
