"""The HTML report: what is in it, and that a browser shows it at any width without asking anyone for anything."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.cuts.binning import equal_width_binning
from tests.helpers.browser import CHROMIUM, browse, run_in_pages, what_it_prints

SCORES = pd.DataFrame(
    {"mean": [-26.1, -29.2], "standard_error": [0.3, 0.2], "bins": [4.1, 3.0]}, index=["bayesian", "equal_width"]
)
VOID = {"meta", "link", "br", "hr", "img", "input"}


def a_network() -> tuple[pd.DataFrame, jaxbn.BayesNet]:
    cars = jaxbn.datasets.load("auto_mpg")
    cuts = {name: equal_width_binning(cars.frame[name].to_numpy(float), 4) for name in cars.continuous}
    return cars.frame, jaxbn.fit(cars.frame, cars.structures["paper_learned"], cuts)


@pytest.fixture(scope="module")
def page() -> str:
    frame, net = a_network()
    options = {"seed": 5, "order": None, "continuous": ["a", "b"]}
    return jaxbn.report(net, frame, title="Cars & <trucks>", scores=SCORES, notes="A figure: -26.04", options=options)


class Checker(HTMLParser):
    """Every tag is closed in its turn; remembers the words outside tags, and the tags."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_page_is_well_formed_and_says_everything(page: str) -> None:
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    for words in ("Cars & <trucks>", "horsepower", "equal width", "-26.100", "A figure: -26.04", "392 rows", "named"):
        assert words in checker.words
    assert checker.tags.count("details") == 8  # a table for each variable
    assert checker.tags.count("svg") == 1 + 5 + 1  # network, continuous variables, scores
    assert re.search(r"<td>seed</td><td>5</td>", page)
    assert jaxbn.__version__ in page


def test_the_page_says_how_the_network_was_found(page: str) -> None:
    frame, net = a_network()
    found = jaxbn.SearchReport("evidence", "exact", 8, 2.5, -10035.2, proved=True, gap=0.0)
    words = "How the network was found: best of 8 runs in 2.5 s; its arcs are proved the best for its cuts."
    assert words in jaxbn.report(replace(net, search=found), frame)
    assert "How the network was found" not in page  # it was fitted


def test_the_page_runs_its_own_script_and_asks_nobody(page: str) -> None:
    outside = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|src=|@import|url\(", outside)
    assert "default-src 'none'" in page  # the browser would refuse to fetch anything
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert len(scripts) == 1
    fingerprint = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{fingerprint}'" in page  # and to run any other script
    for word in ("fetch(", "XMLHttpRequest", "import(", "eval(", "WebSocket", "sendBeacon", "innerHTML"):
        assert word not in scripts[0]


def test_the_page_fits_light_dark_phone_and_paper(page: str) -> None:
    for words in ("prefers-color-scheme: dark", "@media print", "width=device-width"):
        assert words in page


def test_a_page_of_the_network_alone() -> None:
    net = jaxbn.fit({"x": [1.0, 1.0], "k": ["a", "b"]}, {}, {"x": []})  # a constant column has no density
    page = jaxbn.report(net)
    assert "Held-out" not in page
    assert "<h2>Columns</h2>" not in page


def test_a_page_shows_the_strengths_of_arcs() -> None:
    _, net = a_network()
    page = jaxbn.report(net, strengths={("cylinders", "mpg"): 0.83})
    assert "83%" in page


def test_large_tables_are_cut_short() -> None:
    rng = np.random.default_rng(0)
    data = {name: rng.integers(0, 8, 300).astype(str) for name in "abcd"}
    page = jaxbn.report(jaxbn.fit(data, {"d": ["a", "b", "c"]}, {}))
    assert "The first 200 of 512 rows" in page


def test_the_page_is_written_in_one_step(tmp_path: Path) -> None:
    _, net = a_network()
    text = jaxbn.report(net, path=tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == text
    assert len(list(tmp_path.iterdir())) == 1


def test_data_without_a_column_of_the_network_is_refused() -> None:
    frame, net = a_network()
    with pytest.raises(ValueError, match="lacks column"):
        jaxbn.report(net, frame.drop(columns="origin"))


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: the page is not opened in a browser")
@pytest.mark.parametrize("width", [390, 1280])
def test_a_browser_shows_the_page(page: str, width: int, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    dom, complaints = browse(tmp_path, "page.html", width)
    assert complaints == []
    assert 'class="interactive"' in dom
    measure = "return [innerWidth, document.documentElement.scrollWidth]"
    assert run_in_pages(tmp_path, {"measured": (page, measure)}, width=width)["measured"] == [width, width]


WIDE = """
const svg = document.querySelector("svg.network"), area = svg.getBoundingClientRect();
const boxes = [...svg.querySelectorAll(".node > rect")].map(box => box.getBoundingClientRect());
return [boxes.every(b => b.left >= area.left && b.right <= area.right), document.documentElement.scrollWidth];
"""


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: the page is not opened in a browser")
@pytest.mark.parametrize("width", [390, 1280])
def test_a_network_of_many_columns_is_seen_whole(width: int, tmp_path: Path) -> None:
    data = {f"a rather long name {i}": ["a", "b"] for i in range(31)}
    names = list(data)
    net = jaxbn.fit(data, {name: [names[0]] for name in names[1:]}, {})
    found = run_in_pages(tmp_path, {"wide": (jaxbn.report(net), WIDE)}, width=width)["wide"]
    assert found == [True, width]


def test_numbers_as_large_as_floats_can_be() -> None:
    data = {"x": [-1.7e308, 1.7e308, 0.0, 1.0, 2.0], "y": ["a", "b", "a", "b", "a"]}
    net = jaxbn.fit(data, {"x": ["y"]}, {"x": [0.5]})
    assert "cuts of x" in jaxbn.report(net, jaxbn.as_table(data, continuous=["x"]))


def test_a_browser_that_prints_the_page_and_stays_is_ended() -> None:
    stays = "import time; print('<html></html>', flush=True); time.sleep(600)"
    assert what_it_prints([sys.executable, "-c", stays], patience=0.5) == ("<html></html>", "")
