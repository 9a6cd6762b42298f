"""The report answers questions in the browser, and its answers are those of ``net.query``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.drawing import report as page_of
from jaxbn.drawing.report import left_out, payload
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.words import state_texts
from tests.helpers.browser import CHROMIUM, run_in_pages
from tests.helpers.random_networks import random_network, representative

in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: the page is not opened")

ANSWERS = """
const settled = async () => {
  while (document.documentElement.dataset.answered !== location.hash) await new Promise(go => setTimeout(go, 5));
};
const chances = () => {
  const cards = [...document.querySelectorAll("#variables [data-variable]")];
  cards.sort((a, b) => a.dataset.variable - b.dataset.variable);
  return cards.map(card => card.dataset.p.split(" ").filter(Boolean).map(Number));
};
"""
ASK = (
    ANSWERS
    + """
const found = [];
for (const fragment of QUESTIONS) {
  location.hash = fragment;
  await settled();
  found.push({chances: chances(), status: document.getElementById("status").textContent});
}
return found;
"""
)

Question = tuple[str, dict[str, Any]]  # the fragment of the address, and the same as net.query takes it


def known_bin(net: BayesNet, name: str, code: int) -> tuple[str, Any]:
    text = f"bin{code + 1}" if name in net.binnings else quote(state_texts(net, name)[code], safe="")
    return f"{quote(name, safe='')}={text}", representative(net, name, code)


def known_range(net: BayesNet, name: str, rng: np.random.Generator) -> tuple[str, Any]:
    low, high = net.bounds[name]
    a, b = np.sort(rng.uniform(low - 0.1, high + 0.1, 2)).tolist()
    ends = [(a, b), (None, b), (a, None)][int(rng.integers(3))]
    text = ":".join("" if end is None else repr(end) for end in ends)
    return f"{quote(name, safe='')}={text}", ends


def questions(net: BayesNet, seed: int, n: int = 6) -> list[Question]:
    """Nothing known, then some levels, bins and ranges."""
    rng = np.random.default_rng(seed)
    found: list[Question] = [("", {})]
    for _ in range(n):
        names = rng.permutation(net.names).tolist()[: int(rng.integers(1, 4))]
        parts, given = [], {}
        for name in names:
            ranged = name in net.binnings and rng.random() < 0.5
            code = int(rng.integers(net.cardinalities[name]))
            text, given[name] = known_range(net, name, rng) if ranged else known_bin(net, name, code)
            parts.append(text)
        found.append(("&".join(parts), given))
    return found


def agrees(net: BayesNet, asked: list[Question], answers: list[dict[str, Any]]) -> None:
    """Every chance in the page is that of ``net.query``."""
    assert isinstance(answers, list), answers
    for (fragment, given), answer in zip(asked, answers, strict=True):
        for name, chances in zip(net.names, answer["chances"], strict=True):
            if name not in given:
                expected = net.query(name, given).to_numpy()
                if name in net.groupings:
                    expected = np.bincount(net.group_codes[name], expected)
                np.testing.assert_allclose(chances, expected, rtol=0, atol=1e-9, err_msg=f"{name} given {fragment}")


def pages_of(nets: dict[str, BayesNet], asked: dict[str, list[Question]]) -> dict[str, tuple[str, str]]:
    return {
        key: (jaxbn.report(net), ASK.replace("QUESTIONS", json.dumps([fragment for fragment, _ in asked[key]])))
        for key, net in nets.items()
    }


@in_a_browser
def test_the_page_answers_as_the_network_does_on_ten_random_networks(tmp_path: Path) -> None:
    awkward = ["a b", 'say "x" & <y>', "50%=x", "ünï", "2nd,3"]
    nets = {f"random {seed}": random_network(seed, most=12) for seed in range(9)}
    nets["awkward"] = random_network(7, names=awkward)
    asked = {key: questions(net, seed) for seed, (key, net) in enumerate(nets.items())}
    found = run_in_pages(tmp_path, pages_of(nets, asked))
    for key, net in nets.items():
        agrees(net, asked[key], found[key])


@in_a_browser
def test_the_page_answers_as_the_network_does_on_real_ones(tmp_path: Path) -> None:
    nets: dict[str, BayesNet] = {}
    for name in ("auto_mpg", "wine", "iris"):
        data = jaxbn.datasets.load(name)
        structure = next(iter(data.structures.values()))
        cuts = jaxbn.discretize(data.frame, structure, columns=jaxbn.Columns(continuous=data.continuous)).binnings
        nets[name] = jaxbn.fit(data.frame, structure, cuts)
    city = [f"city {i}" for i in range(12)]
    rng = np.random.default_rng(0)
    towns = rng.integers(0, 12, 300)
    frame = pd.DataFrame({"town": [city[i] for i in towns], "rain": towns % 3 + rng.normal(size=300)})
    grouping = jaxbn.Grouping([city[0:12:3], city[1:12:3], city[2:12:3]])
    nets["grouped"] = jaxbn.fit(frame, {"rain": ["town"]}, {"rain": [0.5, 1.5], "town": grouping})
    asked = {key: questions(net, seed) for seed, (key, net) in enumerate(nets.items()) if key != "grouped"}
    asked["auto_mpg"].append(("mpg=30:", {"mpg": (30, None)}))
    asked["grouped"] = [("", {}), ("town=city%204", {"town": "city 4"}), ("rain=1:2", {"rain": (1, 2)})]
    found = run_in_pages(tmp_path, pages_of(nets, asked))
    for key, net in nets.items():
        agrees(net, asked[key], found[key])


CARS = jaxbn.fit(
    {"mpg": [10.0, 20.0, 30.0, 40.0] * 5, "origin": ["usa", "usa", "japan", "japan"] * 5, "alone": ["x", "y"] * 10},
    {"mpg": ["origin"]},
    {"mpg": [15.0, 25.0, 35.0]},
)

USE = (
    ANSWERS
    + """
const wait = () => new Promise(go => setTimeout(go, 30)), found = {};
const status = () => document.getElementById("status").textContent, field = document.getElementById("ask");
const node = name => document.querySelector(`.node[data-name="${name}"]`);
const keydown = key => new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true});
const press = (element, key) => element.dispatchEvent(keydown(key));
const type = async text => {
  field.value = text;
  field.dispatchEvent(new Event("input"));
  await wait();
};
await settled();
found.start = status();

node("mpg").dispatchEvent(new MouseEvent("click", {bubbles: true}));
found.blanket = [...document.querySelectorAll(".node.blanket")].map(n => n.dataset.name);
found.panel = document.querySelector("#chosen h3").textContent;
document.querySelectorAll("#chosen .state")[3].click();
await wait(); await settled();
found.bin = [location.hash, status(), chances()[1]];
found.pressed = [...document.querySelectorAll("#chosen .state")].map(b => b.getAttribute("aria-pressed"));
document.querySelectorAll("#chosen .state")[2].dispatchEvent(new MouseEvent("click", {bubbles: true, shiftKey: true}));
await wait(); await settled();
found.two = location.hash;

const form = document.querySelector("#chosen .range");
form.querySelectorAll("input")[0].value = "30";
form.requestSubmit();
await wait(); await settled();
found.range = [location.hash, status(), chances()[1]];
history.back();
await wait(); await settled();
found.back = location.hash;
document.getElementById("clear").click();
await wait(); await settled();
found.cleared = [location.hash, chances()[1]];

await type("origin = japan");
document.getElementById("ask-form").requestSubmit();
await wait(); await settled();
found.typed = [location.hash, field.value];
document.querySelector("#known .badge").click();
await wait(); await settled();
await type("mpg = 999");
document.getElementById("ask-form").requestSubmit();
await wait(); await settled();
found.beyond = status();
document.getElementById("clear").click();
await wait(); await settled();
await type("origin > 3");
document.getElementById("ask-form").requestSubmit();
found.misread = status();
await type("mp");
found.searched = [...document.querySelectorAll(".node.found")].map(n => n.dataset.name);
found.shown = [...document.querySelectorAll("#variables article:not([hidden]) h3")].map(h => h.textContent);
press(field, "Escape");
await type("");

node("mpg").focus();
press(node("mpg"), "ArrowUp");
found.arrow = document.activeElement.dataset.name;
press(document.activeElement, "Enter");
found.entered = [document.activeElement.className, document.querySelector("#chosen h3").textContent];
press(document.activeElement, "Escape");
found.escaped = document.activeElement.dataset.name;
press(document.body, "/");
found.slash = document.activeElement.id;

const svg = document.querySelector("svg.network"), whole = svg.getAttribute("viewBox");
document.getElementById("zoom-in").click();
const close = svg.viewBox.baseVal.width;
document.getElementById("zoom-fit").click();
found.zoom = [close < Number(whole.split(" ")[2]), svg.getAttribute("viewBox") === whole];
location.hash = "nobody=1&mpg=bin9";
await settled();
found.complaint = status();
const live = document.getElementById("status");
found.live = [live.getAttribute("role"), live.getAttribute("aria-live")];
const names = [...document.querySelectorAll("button:not([hidden]), input, select, .node")];
found.nameless = names.filter(e => !(e.textContent.trim() || e.getAttribute("aria-label") || e.labels?.length)).length;
found.tabs = document.querySelectorAll('.node[tabindex="0"]').length;
return found;
"""
)


@in_a_browser
def test_the_page_is_used_by_mouse_keyboard_and_address(tmp_path: Path) -> None:
    found = run_in_pages(tmp_path, {"cars": (jaxbn.report(CARS), USE)})["cars"]
    assert isinstance(found, dict), found
    assert found["start"].startswith("Nothing is known yet")
    assert (found["panel"], found["blanket"]) == ("mpg", ["origin"])
    assert found["bin"][0] == "#mpg=bin4"
    assert "Given mpg 35 or more" in found["bin"][1]
    np.testing.assert_allclose(found["bin"][2], CARS.query("origin", {"mpg": 40}), atol=1e-12)
    assert found["pressed"] == ["false", "false", "false", "true"]
    assert found["two"] == "#mpg=bin3,bin4"
    assert found["range"][0] == "#mpg=30:"
    assert "Given mpg 30 or more (probability" in found["range"][1]
    np.testing.assert_allclose(found["range"][2], CARS.query("origin", {"mpg": (30, None)}), atol=1e-12)
    assert found["back"] == "#mpg=bin3,bin4"  # the way back undoes
    assert found["cleared"][0] == ""
    np.testing.assert_allclose(found["cleared"][1], CARS.query("origin"), atol=1e-12)
    assert found["typed"] == ["#origin=japan", ""]
    assert "what lies outside counts as the outer bin" in found["beyond"]
    assert "not understood" in found["misread"]
    assert "the levels are" in found["misread"]
    assert found["searched"] == found["shown"] == ["mpg"]
    assert found["arrow"] == "origin"
    assert found["entered"] == ["state", "origin"]
    assert found["escaped"] == "origin"
    assert found["slash"] == "ask"
    assert found["zoom"] == [True, True]
    assert found["complaint"].startswith("Not understood in the address: nobody=1, mpg=bin9.")
    assert found["live"] == ["status", "polite"]
    assert found["nameless"] == 0
    assert found["tabs"] == 1  # one stop for the tab key, arrows move inside


MORE = (
    ANSWERS
    + """
const wait = () => new Promise(go => setTimeout(go, 30)), found = {};
const status = () => document.getElementById("status").textContent, field = document.getElementById("ask");
await settled();
found.first = document.querySelector("#chosen h3").textContent;
found.links = [...document.querySelectorAll(".links li")].map(item => item.textContent);
field.value = "mpg > 30 and alone = x";
document.getElementById("ask-form").requestSubmit();
await wait(); await settled();
found.both = [location.hash, status()];
document.getElementById("clear").click();
await wait(); await settled();
field.value = "set mpg = 12";
document.getElementById("ask-form").requestSubmit();
await wait(); await settled();
found.set = [location.hash, status(), chances()[1]];
const mode = document.querySelector("#chosen .mode");
mode.value = "";
mode.dispatchEvent(new Event("change"));
await wait(); await settled();
found.known = [location.hash, chances()[1]];
const details = document.querySelector('details[data-variable="0"]');
details.open = true;
await wait();
const column = () => [...details.querySelectorAll("tbody tr")].map(row => row.children[1].textContent);
found.rows = [column()];
details.querySelectorAll(".sort")[1].click();
found.rows.push(column());
details.querySelectorAll(".sort")[1].click();
found.rows.push(column());
details.querySelector(".table-tools button").click();
found.csv = document.documentElement.dataset.downloaded;
return found;
"""
)


@in_a_browser
def test_several_conditions_interventions_and_tables(tmp_path: Path) -> None:
    found = run_in_pages(tmp_path, {"cars": (jaxbn.report(CARS), MORE)})["cars"]
    assert isinstance(found, dict), found
    assert found["first"] in ("mpg", "origin")
    assert len(found["links"]) == 1
    assert "with origin" in found["links"][0]
    assert found["both"][0] == "#mpg=30:&alone=x"
    assert "Given mpg 30 or more, alone = x" in found["both"][1]
    assert found["set"][0] == "#do:mpg=12"
    assert found["set"][1].startswith("If mpg = 12 is set from outside. Nothing else changes. This tells what would")
    np.testing.assert_allclose(found["set"][2], CARS.query("origin", do={"mpg": 12}), atol=1e-12)
    assert found["known"][0] == "#mpg=12"
    np.testing.assert_allclose(found["known"][1], CARS.query("origin", {"mpg": 12}), atol=1e-12)
    plain, falling, rising = found["rows"]
    assert falling == sorted(plain, reverse=True)
    assert rising == sorted(plain)
    lines = found["csv"].splitlines()
    assert lines[0].startswith("origin,below")
    table = CARS.tables["mpg"]
    assert [float(number) for number in lines[1].split(",")[1:]] == table[0].tolist()


def test_tables_too_large_are_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    net = random_network(3, most=7)
    sizes = {name: net.tables[name].size for name in net.names}
    largest = max(net.names, key=lambda name: sizes[name])
    most = sum(sizes.values()) - 1
    assert left_out(net, most) == [largest]
    variables = json.loads(payload(net, None, most))["variables"]
    assert [v["name"] for v in variables if v["table"] is None] == [largest]
    monkeypatch.setattr(page_of, "MOST_CELLS", most)
    page = jaxbn.report(net)
    assert f"Tables left out because they are too large for this page: {largest} ({sizes[largest]:,} entries)" in page


@in_a_browser
def test_what_depends_on_absent_tables_is_answered_by_drawn_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    data = {name: rng.integers(0, 4, 200).astype(str) for name in ("a", "b", "c", "d", "e")}
    net = jaxbn.fit(data, {"b": ["a"], "c": ["a", "b"], "d": ["c"]}, {})
    monkeypatch.setattr(page_of, "MOST_CELLS", 60)
    asked: list[Question] = [("", {}), ("b=1", {"b": "1"}), ("d=1", {"d": "1"})]
    (answers,) = run_in_pages(tmp_path, pages_of({"net": net}, {"net": asked})).values()
    for (_, given), answer in zip(asked, answers, strict=True):
        chances = dict(zip(net.names, answer["chances"], strict=True))
        drawn = set(net.names) if "d" in given else {"c", "d"}
        for name in set(net.names) - set(given):
            np.testing.assert_allclose(chances[name], net.query(name, given), atol=0.05 if name in drawn else 1e-12)
        assert "Approximate: " in answer["status"]
