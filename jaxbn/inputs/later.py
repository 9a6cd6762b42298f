"""Libraries that take long to import, or need not be installed: each is imported when something of it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["nw", "nx", "pa", "patches", "pd", "plt", "types"]

if TYPE_CHECKING:
    import matplotlib.pyplot as plt
    import narwhals as nw
    import networkx as nx
    import pandas as pd
    import pyarrow as pa
    from matplotlib import patches
    from pandas.api import types
else:

    class _Later:
        """Stands for a module."""

        def __init__(self, module: str) -> None:
            self._module = module

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self._module), name)

    nw, nx, pa, pd, types = map(_Later, ("narwhals", "networkx", "pyarrow", "pandas", "pandas.api.types"))
    patches, plt = map(_Later, ("matplotlib.patches", "matplotlib.pyplot"))
