"""Discrete Bayesian networks from continuous and mixed data.

The names below are the whole public interface. They are loaded when first used, so that `import jaxbn` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxbn import datasets as datasets
    from jaxbn.policy import Policy as Policy
    from jaxbn.variable import discretize_variable as discretize_variable

__version__ = "0.1.0"

_HOMES = {
    "Policy": "jaxbn.policy",
    "discretize_variable": "jaxbn.variable",
}
_MODULES = ("datasets",)

__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = import_module(f"jaxbn.{name}")
    else:
        raise AttributeError(f"module 'jaxbn' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
