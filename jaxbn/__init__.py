"""Discrete Bayesian networks from continuous and mixed data.

The names below are the whole public interface. They are loaded when first used, so that `import jaxbn` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxbn import datasets as datasets
    from jaxbn.bif import read_bif as read_bif
    from jaxbn.model import fit as fit
    from jaxbn.network import BayesNet as BayesNet
    from jaxbn.passes import Discretization as Discretization
    from jaxbn.passes import discretize as discretize
    from jaxbn.policy import Policy as Policy
    from jaxbn.restarts import learn as learn
    from jaxbn.serialize import load as load
    from jaxbn.variable import discretize_variable as discretize_variable

__version__ = "0.1.0"

_HOMES = {
    "BayesNet": "jaxbn.network",
    "Discretization": "jaxbn.passes",
    "Policy": "jaxbn.policy",
    "discretize": "jaxbn.passes",
    "discretize_variable": "jaxbn.variable",
    "fit": "jaxbn.model",
    "learn": "jaxbn.restarts",
    "load": "jaxbn.serialize",
    "read_bif": "jaxbn.bif",
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
