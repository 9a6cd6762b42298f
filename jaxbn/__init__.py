"""Discrete Bayesian networks from continuous and mixed data.

The names below are the whole public interface. They are loaded when first used, so that `import jaxbn` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxbn import datasets as datasets
    from jaxbn.cuts.binning import Binning as Binning
    from jaxbn.cuts.discretize_variable import discretize_variable as discretize_variable
    from jaxbn.cuts.methods import MDL as MDL
    from jaxbn.cuts.methods import Bayesian as Bayesian
    from jaxbn.cuts.methods import Evidence as Evidence
    from jaxbn.drawing.plots import plot_marginal as plot_marginal
    from jaxbn.drawing.plots import plot_pair as plot_pair
    from jaxbn.drawing.report import report as report
    from jaxbn.evaluation.bootstrap import bootstrap as bootstrap
    from jaxbn.evaluation.bootstrap_results import ArcBootstrap as ArcBootstrap
    from jaxbn.evaluation.bootstrap_results import Bootstrap as Bootstrap
    from jaxbn.evaluation.bootstrap_results import CutBootstrap as CutBootstrap
    from jaxbn.evaluation.compare import compare as compare
    from jaxbn.evaluation.cross_validate import CrossValidation as CrossValidation
    from jaxbn.evaluation.cross_validate import cross_validate as cross_validate
    from jaxbn.evaluation.refine import Refined as Refined
    from jaxbn.evaluation.refine import refine as refine
    from jaxbn.formats.json_file import load as load
    from jaxbn.formats.read import read as read
    from jaxbn.formats.read import read_bif as read_bif
    from jaxbn.groups.grouping import Grouping as Grouping
    from jaxbn.groups.grouping import group_levels as group_levels
    from jaxbn.inputs.table import as_table as as_table
    from jaxbn.learning.columns import Columns as Columns
    from jaxbn.learning.discretize import Discretization as Discretization
    from jaxbn.learning.discretize import discretize as discretize
    from jaxbn.learning.learn import learn as learn
    from jaxbn.learning.options import K2 as K2
    from jaxbn.learning.options import Orders as Orders
    from jaxbn.model.average import AverageNet as AverageNet
    from jaxbn.model.bayesnet import BayesNet as BayesNet
    from jaxbn.model.fit import fit as fit
    from jaxbn.model.most_probable import MostProbable as MostProbable
    from jaxbn.model.rows.scores import RowScores as RowScores
    from jaxbn.model.search_report import SearchReport as SearchReport
    from jaxbn.posterior.cut_posterior import CutPosterior as CutPosterior
    from jaxbn.posterior.cut_posterior import cut_posterior as cut_posterior
    from jaxbn.posterior.results import Posterior as Posterior
    from jaxbn.posterior.sample_posterior import sample_posterior as sample_posterior
    from jaxbn.runtime.compilation_cache import enable_compilation_cache as enable_compilation_cache
    from jaxbn.runtime.limits import InterruptedWarning as InterruptedWarning
    from jaxbn.structure.constraints import Constraints as Constraints
    from jaxbn.structure.equivalence import Comparison as Comparison
    from jaxbn.structure.equivalence import Cpdag as Cpdag

__version__ = "1.0.0rc1"

_NAMES = {
    "cuts.binning": "Binning",
    "cuts.discretize_variable": "discretize_variable",
    "cuts.methods": "Bayesian Evidence MDL",
    "drawing.plots": "plot_marginal plot_pair",
    "drawing.report": "report",
    "evaluation.bootstrap": "bootstrap",
    "evaluation.bootstrap_results": "ArcBootstrap Bootstrap CutBootstrap",
    "evaluation.compare": "compare",
    "evaluation.cross_validate": "CrossValidation cross_validate",
    "evaluation.refine": "Refined refine",
    "formats.json_file": "load",
    "formats.read": "read read_bif",
    "groups.grouping": "Grouping group_levels",
    "inputs.table": "as_table",
    "learning.columns": "Columns",
    "learning.discretize": "Discretization discretize",
    "learning.learn": "learn",
    "learning.options": "K2 Orders",
    "model.average": "AverageNet",
    "model.bayesnet": "BayesNet",
    "model.fit": "fit",
    "model.most_probable": "MostProbable",
    "model.rows.scores": "RowScores",
    "model.search_report": "SearchReport",
    "posterior.cut_posterior": "CutPosterior cut_posterior",
    "posterior.results": "Posterior",
    "posterior.sample_posterior": "sample_posterior",
    "runtime.compilation_cache": "enable_compilation_cache",
    "runtime.limits": "InterruptedWarning",
    "structure.constraints": "Constraints",
    "structure.equivalence": "Comparison Cpdag",
}
_HOMES = {name: f"jaxbn.{home}" for home, names in _NAMES.items() for name in names.split()}
_MODULES = ("datasets",)
_OLD = {"Policy": "Binning"}

__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _OLD:
        from jaxbn.runtime.deprecated import warn_old

        warn_old(f"jaxbn.{name}", f"jaxbn.{_OLD[name]}")
        return __getattr__(_OLD[name])
    if name not in _HOMES and name not in _MODULES:
        raise AttributeError(f"module 'jaxbn' has no attribute {name!r}")
    from jaxbn.runtime import limits

    with limits.listening():  # Ctrl-C waits: half of JAX would be no module for the rest of the session
        module = import_module(_HOMES.get(name, f"jaxbn.{name}"))
    globals()[name] = value = getattr(module, name) if name in _HOMES else module
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
