"""Every public name has a docstring with an example; pytest runs the examples as doctests."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import jaxbn


def public() -> Iterator[tuple[str, Any]]:
    """Functions and classes of jaxbn and jaxbn.datasets, and the methods of the classes."""
    for home in (jaxbn, jaxbn.datasets):
        for name in home.__all__:
            value = getattr(home, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                yield name, value
            if inspect.isclass(value):
                members = inspect.getmembers(value, inspect.isfunction)  # inherited ones too
                yield from ((f"{name}.{m}", f) for m, f in members if m[0] != "_" and f.__module__[:5] == "jaxbn")


@pytest.mark.parametrize(("name", "value"), [pytest.param(n, v, id=n) for n, v in public()])
def test_public_names_have_an_example(name: str, value: Any) -> None:
    assert ">>>" in (inspect.getdoc(value) or ""), f"{name} has no example in its docstring"


def test_no_module_hides_a_public_name() -> None:
    for name, home in jaxbn._HOMES.items():
        assert home != f"jaxbn.{name}"
        assert not inspect.ismodule(getattr(jaxbn, name))
