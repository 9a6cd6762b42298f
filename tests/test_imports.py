"""Imports go one way: a subpackage uses only those before it (docs/architecture.md, "Subpackages")."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import jaxbn

PACKAGE = Path(jaxbn.__file__).parent
SUBPACKAGES = (
    "kernels", "runtime", "inputs", "counts", "sources", "cuts", "groups", "scores", "structure", "model", "learning",
    "posterior", "evaluation", "formats", "drawing", "estimators", "sklearn", "datasets", "paper", "cli", "__main__",
)  # fmt: skip
"""From the first to the last: each imports only itself and earlier ones."""

OUTSIDE_OF_KERNELS = {"jax", "numpy", "optax", "scipy", "functools", "typing", "collections", "math", "__future__"}
"""What kernels may import besides themselves."""

EXCEPTIONS = {
    ("cuts.binning", "drawing.plots"),  # binning.plot
    ("cuts.binning", "drawing.notebook"),  # its display
    ("evaluation.bootstrap_results", "drawing.plots"),  # found.plot
    ("learning.discretize", "drawing.notebook"),  # the display of a discretization
    ("posterior.results", "drawing.posterior"),  # found.plot_arcs and the like, and its display
    ("model.fitted", "formats.record"),  # net.state_labels
    ("model.rows.sampling", "formats.json_file"),  # net.save
    ("structure.equivalence", "drawing.plots"),  # Comparison.plot
    ("model.fitted", "formats.read"),  # net.write, net.to_bif, net.to_pgmpy, net.to_pyagrum
    ("model.fitted", "drawing.plots"),  # net.plot
    ("model.fitted", "drawing.notebook"),  # its display
    ("model.fit", "learning.large"),  # fit of a source
    ("model.fit", "learning.discretize"),  # fit without binnings cuts first
}
"""Imports inside a function that go the other way, for methods that users expect: (module, imported module)."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every module of the package, by dotted name."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__") or "__init__"
        yield name, ast.parse(path.read_text(encoding="utf-8"))


def type_checking_only(tree: ast.Module) -> set[ast.AST]:
    """Nodes below `if TYPE_CHECKING:`, which run for type checkers alone."""
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    return {node for block in blocks for node in ast.walk(block)}


def imported(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Modules of the package that a module imports, and whether it does so inside a function."""
    skipped = type_checking_only(tree)
    top = set(tree.body)
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "jaxbn":
            base = node.module.removeprefix("jaxbn").removeprefix(".")
            for alias in node.names:
                inner = (PACKAGE / base.replace(".", "/") / f"{alias.name}.py").exists()
                package = (PACKAGE / base.replace(".", "/") / alias.name).is_dir()
                yield (f"{base}.{alias.name}".lstrip(".") if inner or package else base), node not in top
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("jaxbn."):
                    yield alias.name.removeprefix("jaxbn."), node not in top


def wrong_way() -> list[tuple[str, str, bool]]:
    """Imports of a later subpackage: (module, imported module, inside a function)."""
    found = []
    for name, tree in modules():
        if name == "__init__":
            continue
        for other, inside in imported(tree):
            if other and SUBPACKAGES.index(other.split(".")[0]) > SUBPACKAGES.index(name.split(".")[0]):
                found.append((name, other, inside))
    return found


def test_every_module_is_in_a_subpackage() -> None:
    assert {name.split(".")[0] for name, _ in modules()} <= {*SUBPACKAGES, "__init__"}
    assert sorted(path.stem for path in PACKAGE.glob("*.py")) == ["__init__", "__main__", "sklearn"]


def test_imports_go_one_way() -> None:
    assert [f"{name} imports {other}" for name, other, inside in wrong_way() if not inside] == []


def test_exceptions_are_listed() -> None:
    assert {(name, other) for name, other, inside in wrong_way() if inside} == EXCEPTIONS


def test_kernels_know_arrays_alone() -> None:
    for name, tree in modules():
        if name.split(".")[0] == "kernels":
            used = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
            used |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
            outside = {module for module in used if not module.startswith("jaxbn.kernels")}
            assert {module.split(".")[0] for module in outside} <= OUTSIDE_OF_KERNELS, name


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from jaxbn.cli.main import main", [("cli.main", False)]),
        ("def f():\n    from jaxbn.drawing import plots", [("drawing.plots", True)]),
        ("import jaxbn.datasets", [("datasets", False)]),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from jaxbn.cli.main import main", []),
    ],
)
def test_imports_are_seen(source: str, found: list[tuple[str, bool]]) -> None:
    assert list(imported(ast.parse(source))) == found
