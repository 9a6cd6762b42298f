"""Discrete Bayesian networks from continuous and mixed data.

The names below are the whole public interface. They are loaded when first used, so that `import jaxbn` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxbn import datasets as datasets
    from jaxbn.bif import read_bif as read_bif
    from jaxbn.bootstrapped import ArcBootstrap as ArcBootstrap
    from jaxbn.bootstrapped import Bootstrap as Bootstrap
    from jaxbn.bootstrapped import CutBootstrap as CutBootstrap
    from jaxbn.cache import enable_compilation_cache as enable_compilation_cache
    from jaxbn.evaluate import CrossValidation as CrossValidation
    from jaxbn.evaluate import compare as compare
    from jaxbn.evaluate import cross_validate as cross_validate
    from jaxbn.grouping import Grouping as Grouping
    from jaxbn.grouping import group_levels as group_levels
    from jaxbn.model import fit as fit
    from jaxbn.network import BayesNet as BayesNet
    from jaxbn.passes import Discretization as Discretization
    from jaxbn.passes import discretize as discretize
    from jaxbn.plots import plot_marginal as plot_marginal
    from jaxbn.plots import plot_pair as plot_pair
    from jaxbn.policy import Policy as Policy
    from jaxbn.refining import Refined as Refined
    from jaxbn.refining import refine as refine
    from jaxbn.reporting import report as report
    from jaxbn.resampling import bootstrap as bootstrap
    from jaxbn.restarts import learn as learn
    from jaxbn.serialize import load as load
    from jaxbn.table import as_table as as_table
    from jaxbn.variable import discretize_variable as discretize_variable

__version__ = "0.1.0"

_HOMES = {
    "ArcBootstrap": "jaxbn.bootstrapped",
    "BayesNet": "jaxbn.network",
    "Bootstrap": "jaxbn.bootstrapped",
    "CrossValidation": "jaxbn.evaluate",
    "CutBootstrap": "jaxbn.bootstrapped",
    "Discretization": "jaxbn.passes",
    "Grouping": "jaxbn.grouping",
    "Policy": "jaxbn.policy",
    "Refined": "jaxbn.refining",
    "as_table": "jaxbn.table",
    "bootstrap": "jaxbn.resampling",
    "compare": "jaxbn.evaluate",
    "cross_validate": "jaxbn.evaluate",
    "discretize": "jaxbn.passes",
    "discretize_variable": "jaxbn.variable",
    "enable_compilation_cache": "jaxbn.cache",
    "fit": "jaxbn.model",
    "group_levels": "jaxbn.grouping",
    "learn": "jaxbn.restarts",
    "load": "jaxbn.serialize",
    "plot_marginal": "jaxbn.plots",
    "plot_pair": "jaxbn.plots",
    "read_bif": "jaxbn.bif",
    "refine": "jaxbn.refining",
    "report": "jaxbn.reporting",
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
