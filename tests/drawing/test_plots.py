"""Pictures: where the boxes of a network stand, what is drawn, and what a notebook shows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

import matplotlib as mpl
import numpy as np
import pytest

import jaxbn
from jaxbn.cuts.binning import Binning, equal_width_binning
from jaxbn.drawing.layout import Layout, layered
from jaxbn.drawing.svg import network_svg, ticks, variable_svg
from tests.helpers.random_networks import random_network


@pytest.fixture(autouse=True)
def _no_window() -> Iterator[None]:
    before = mpl.get_backend()
    mpl.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
    mpl.use(before)


@pytest.fixture(scope="module")
def iris() -> jaxbn.datasets.Dataset:
    return jaxbn.datasets.load("iris")


@pytest.fixture(scope="module")
def net(iris: jaxbn.datasets.Dataset) -> jaxbn.BayesNet:
    cuts = {name: equal_width_binning(iris.frame[name].to_numpy(), 3) for name in iris.continuous}
    return jaxbn.fit(iris.frame, iris.structures["paper"], cuts)


def assert_sound(plan: Layout, parents: dict[str, tuple[str, ...]]) -> None:
    """Inside the drawing, apart from each other, arcs downwards from box to box."""
    assert set(plan.boxes) == set(parents)
    for box in plan.boxes.values():
        assert box.width / 2 - 1e-6 <= box.x <= plan.width - box.width / 2 + 1e-6
        assert box.height / 2 <= box.y <= plan.height - box.height / 2
    for a, b in combinations(plan.boxes.values(), 2):
        assert abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) >= (a.height + b.height) / 2
    assert set(plan.arcs) == {(p, child) for child, found in parents.items() for p in found}
    for points in plan.arcs.values():
        assert all(a[1] < b[1] for a, b in pairwise(points))


@pytest.mark.parametrize("seed", range(8))
def test_layouts_keep_boxes_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(int(rng.integers(1, 16)))]
    parents = {
        name: tuple(rng.choice(names[:i], size=min(i, int(rng.integers(0, 4))), replace=False).tolist() if i else ())
        for i, name in enumerate(names)
    }
    assert_sound(layered(parents, {name: float(rng.integers(40, 160)) for name in names}), parents)


def test_a_layout_of_nothing_but_lone_variables_wraps() -> None:
    parents: dict[str, tuple[str, ...]] = {f"v{i}": () for i in range(12)}
    plan = layered(parents, dict.fromkeys(parents, 100.0))
    assert_sound(plan, parents)
    assert plan.width <= 480
    assert len({box.y for box in plan.boxes.values()}) > 1


def test_parts_without_an_arc_between_them_stand_in_rows() -> None:
    """Of 40 columns in ten parts all stood side by side, too small to read."""
    parents = {f"v{i}": (f"v{i - i % 4}",) if i % 4 else () for i in range(40)} | {"lone": ()}
    plan = layered(parents, dict.fromkeys(parents, 100.0))
    assert_sound(plan, parents)
    assert plan.height < plan.width < 4 * plan.height
    assert all(plan.boxes[f"v{i}"].y < plan.boxes["lone"].y for i in range(40))


def test_a_network_is_drawn_with_its_bins(net: jaxbn.BayesNet) -> None:
    words = {text.get_text() for text in net.plot().texts}
    assert {"class", "3 levels", "petal_width", "3 bins"} <= words
    strengths = {("class", "petal_width"): 0.5}
    assert "50%" in {text.get_text() for text in net.plot(strengths=strengths).texts}


def test_pictures_of_variables(net: jaxbn.BayesNet, iris: jaxbn.datasets.Dataset) -> None:
    ax = jaxbn.plot_marginal(net, iris.frame, "petal_width")
    assert ax.get_xlabel() == "petal_width"
    assert sum(line.get_linestyle() == "--" for line in ax.lines) == 2  # the cuts
    assert jaxbn.plot_pair(net, iris.frame, "petal_width", "sepal_width").get_ylabel() == "sepal_width"
    own = net.binnings["petal_width"].plot(iris.frame["petal_width"])
    assert net.binnings["sepal_width"].plot(iris.frame["sepal_width"], own) is own
    assert Binning([]).plot([1.0, 2.0]).get_ylabel() == "density"


def test_what_cannot_be_drawn_is_refused(net: jaxbn.BayesNet, iris: jaxbn.datasets.Dataset) -> None:
    with pytest.raises(ValueError, match=r"'petal_wdth' is not a continuous variable.*did you mean 'petal_width'"):
        jaxbn.plot_pair(net, iris.frame, "petal_wdth", "sepal_width")
    with pytest.raises(ValueError, match="both 'petal_width'"):
        jaxbn.plot_pair(net, iris.frame, "petal_width", "petal_width")
    with pytest.raises(ValueError, match="no column 'petal_width'"):
        jaxbn.plot_pair(net, iris.frame.drop(columns="petal_width"), "petal_width", "sepal_width")


def test_names_are_escaped_and_cut() -> None:
    name = "a <b> & " + "long " * 10
    svg = network_svg(jaxbn.fit({name: ["x", "y"]}, {}, {}))
    assert "<b>" not in svg
    assert "…" in svg


def test_notebooks_show_tables_and_pictures(net: jaxbn.BayesNet) -> None:
    assert "<svg" in net._repr_html_()
    assert "petal_width" in net._repr_html_()
    assert "<svg" in net.binnings["petal_width"]._repr_html_()
    assert "1, 2.5" in Binning([1.0, 2.5])._repr_html_()
    found = jaxbn.Discretization(net.binnings, 3, True)
    assert "3 passes, converged" in found._repr_html_()


@pytest.mark.parametrize("seed", range(3))
def test_any_network_can_be_drawn(seed: int) -> None:
    some = random_network(seed)
    assert network_svg(some).count("<rect") == len(some.names)
    some.plot()


def test_ticks_are_round_and_inside() -> None:
    assert ticks(0.0, 1.0) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert ticks(3.0, 3.0) == [3.0]
    assert all(-1e-3 <= tick <= 2e-3 for tick in ticks(-1e-3, 2e-3))


def test_a_bin_far_above_the_histogram_is_cut_off() -> None:
    edges, density = np.array([0.0, 1e-6, 1.0]), np.array([1e5, 0.9])
    svg = variable_svg(edges, (edges, density), np.linspace(0, 1, 50), "x")
    assert "-" not in "".join(part.split('"')[0] for part in svg.split(' y="')[1:])


def test_a_tornado_has_the_numbers_of_influence(net: jaxbn.BayesNet) -> None:
    known = {"petal_length": 4.9, "petal_width": 1.6}
    found, ax = net.influence("class", known), net.plot_influence("class", known)
    last, alone = ([bar.get_width() for bar in bars] for bars in ax.containers)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(found.index)[::-1]
    np.testing.assert_allclose((last, alone), (found["left_out"][::-1], found["alone"][::-1]))
    assert str(found.attrs["state"]) in ax.get_xlabel()
    bars = net.plot_influence("class").containers[0]
    np.testing.assert_allclose([bar.get_width() for bar in bars], net.influence("class")["mutual_information"][::-1])


def test_arrows_are_compelled_and_lines_are_not() -> None:
    data = {name: [0, 1, 0, 1] for name in "abcde"}
    some = jaxbn.fit(data, {"c": ["a", "b"], "e": ["d"]}, {})
    svg = network_svg(some, {("a", "c"): 0.9, ("d", "e"): 0.5, ("e", "d"): 0.2})
    assert svg.count('class="arc"') == 2
    assert svg.count('class="arc open"') == svg.count('display="none"') == 1
    assert "<title>a → c, worth" in svg
    assert "<title>d – e, worth" in svg
    assert ">90%<" in svg
    assert ">70%<" in svg  # in either direction
    assert 'display="none"' not in network_svg(some, directions="all")
    heads = [sum(type(p).__name__ == "Polygon" for p in some.plot(directions=d).patches) for d in ("class", "all")]
    assert heads == [2, 3]
    with pytest.raises(ValueError, match="directions must be one of 'class', 'all', got 'none'"):
        some.plot(directions="none")  # type: ignore[arg-type]


def test_the_report_has_a_switch_of_directions() -> None:
    some = jaxbn.fit({name: [0, 1, 0, 1] for name in "abc"}, {"b": ["a"]}, {})
    assert '<input type="checkbox" id="directions">' in jaxbn.report(some)
    assert '<input type="checkbox" id="directions" checked>' in jaxbn.report(some, directions="all")
    compelled = jaxbn.fit({name: [0, 1, 0, 1] for name in "abc"}, {"c": ["a", "b"]}, {})
    assert 'id="directions"' not in jaxbn.report(compelled)
