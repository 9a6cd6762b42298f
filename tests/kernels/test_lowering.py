"""Every program that learning, a bootstrap or a refinement runs can be compiled for a GPU, without one at hand.

The programs are recorded while small tables are worked on, then lowered for CUDA and for CPUs.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.export
import numpy as np
import pandas as pd
import pytest

import jaxbn
import jaxbn.kernels
from jaxbn.counts.device import Deferred, DeviceCounter, counts_at, tables_of
from jaxbn.kernels.arithmetic import stable_order
from tests.helpers.coded_columns import random_columns

pytestmark = pytest.mark.slow  # every program is compiled once, in shapes of its own

PROGRAMS = {
    "advance", "boundary_chances", "climb", "draw_boundaries", "extension_sums", "family_sums", "further_layers",
    "indicator_of", "initial_state", "interval_costs", "joint_codes", "position_counts", "priced_intervals",
    "set_counts", "walk_back",
}  # fmt: skip
"""Those that must have been met below; one that nothing reaches should go."""


class Call(NamedTuple):
    """A program with the shapes and switches it was called with."""

    program: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def jitted() -> dict[str, Any]:
    """Every compiled function of the kernels, by name."""
    found = {}
    for module in pkgutil.walk_packages(jaxbn.kernels.__path__, "jaxbn.kernels."):
        loaded = importlib.import_module(module.name)
        compiled = {name: v for name, v in vars(loaded).items() if hasattr(v, "lower") and hasattr(v, "clear_cache")}
        found.update(compiled)
    return found


def shapes(tree: Any) -> Any:
    """The same arguments with every array as its shape and type."""

    def shape(leaf: Any) -> Any:
        if isinstance(leaf, jax.Array | np.ndarray | np.generic):
            return jax.ShapeDtypeStruct(np.shape(leaf), leaf.dtype)
        return leaf

    return jax.tree.map(shape, tree)


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array | np.ndarray)


def recorder(name: str, program: Any, calls: dict[str, Call]) -> Callable[..., Any]:
    def record(*args: Any, **kwargs: Any) -> Any:
        if name not in calls:
            switches = {key: value for key, value in kwargs.items() if not _is_array(value)}
            calls[name] = Call(program, shapes(args), {**shapes(kwargs), **switches})
        return program(*args, **kwargs)

    record.clear_cache = program.clear_cache  # type: ignore[attr-defined]
    record.lower = program.lower  # type: ignore[attr-defined]
    return record


def work() -> None:
    """A little of everything that runs on a device."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=5000)
    long = pd.DataFrame({"x": x, "y": x + rng.normal(size=5000), "kind": rng.integers(0, 3, 5000).astype(str)})
    short = long[:120]
    graph = {"y": ["x"], "kind": ["y"]}
    jaxbn.learn(short, progress=False, restarts=1)
    jaxbn.bootstrap(short, resamples=12, method="bayesian", search="k2", progress=False)
    jaxbn.discretize_variable(long["x"], [long["kind"].astype(int)])
    jaxbn.discretize_variable(short["x"], [short["kind"].astype(int)], method="mdl")
    jaxbn.bootstrap(short, graph, resamples=3, method="bayesian")
    jaxbn.cut_posterior(short["x"], [short["kind"].astype(int)]).sample(2)
    jaxbn.refine(jaxbn.fit(short, graph, jaxbn.discretize(short, graph).binnings), short)
    columns, table = random_columns(rng, 4, 200, most_states=9), np.zeros((1, 201), np.int64)
    counter = DeviceCounter(columns)
    counter.sums([(base, np.arange(4)) for base in [(0,), (0, 1), (0, 1, 2)]], table)
    counter.family_sums((0,), 1, table, np.arange(4))
    stable_order(x)
    (counts,) = tables_of([columns[:2]])
    counts_at([(np.array([0, 9, 200]), [Deferred(columns[:2], counts, rng.permutation(200))])], 128, 2)


@pytest.fixture(scope="module")
def calls() -> dict[str, Call]:
    """The first call of each program."""
    found: dict[str, Call] = {}
    for module in pkgutil.walk_packages(jaxbn.__path__, "jaxbn."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    with pytest.MonkeyPatch.context() as patch:
        for name, program in jitted().items():
            stand_in = recorder(name, program, found)
            for module in [m for key, m in sys.modules.items() if key.startswith("jaxbn")]:
                for attribute, value in list(vars(module).items()):
                    if value is program:
                        patch.setattr(module, attribute, stand_in)
        work()
    return found


def lowered(call: Call) -> jax.export.Exported:
    with jax.enable_x64(True):
        return jax.export.export(call.program, platforms=["cuda", "cpu"])(*call.args, **call.kwargs)


def test_every_program_is_met(calls: dict[str, Call]) -> None:
    assert set(calls) >= PROGRAMS, f"never met: {PROGRAMS - set(calls)}; met: {sorted(calls)}"


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_it_is_lowered_for_cuda(name: str, calls: dict[str, Call]) -> None:
    exported = lowered(calls[name])
    assert exported.platforms == ("cuda", "cpu")


@pytest.mark.parametrize("name", sorted(PROGRAMS - {"climb"}))
def test_counts_are_whole_numbers(name: str, calls: dict[str, Call]) -> None:
    """Sums of floats scattered to one place depend on the order in which a GPU adds them."""
    text = lowered(calls[name]).mlir_module()
    scatters = re.findall(r'"stablehlo\.scatter".*?\}\) : \(.*?\) -> \S+', text, flags=re.S)
    adds = [s for s in scatters if re.search(r"stablehlo\.add .*tensor<f(32|64)>", s)]
    assert adds == []
