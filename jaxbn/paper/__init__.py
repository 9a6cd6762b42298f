"""The paper's tables and figures, computed anew and set beside the published ones."""

from jaxbn.paper.page import run as run
