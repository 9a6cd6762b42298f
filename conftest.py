"""Examples in docstrings run with what their readers have at hand: the package, and the network of `BayesNet`."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session")
def example() -> dict[str, Any]:
    """What examples may use without saying so; `data` and `net` are made in the docstring of `BayesNet`."""
    import jaxbn

    data = {"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0]}
    net = jaxbn.fit(data, {"size": ["kind"]}, {"size": [4.5]})
    other = jaxbn.fit(data, {"size": ["kind"]}, {"size": [8.0]})
    return {"jaxbn": jaxbn, "data": data, "net": net, "average": jaxbn.AverageNet([net, other])}


@pytest.fixture(autouse=True)
def _example_at_hand(request: pytest.FixtureRequest) -> None:
    """Give it to every example, in a folder of its own, where it may write files."""
    if isinstance(request.node, pytest.DoctestItem):
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
        request.getfixturevalue("doctest_namespace").update(request.getfixturevalue("example"))
