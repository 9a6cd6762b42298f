"""The page's script by itself, in Node: large networks, questions that are too large, sentences, numbers."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from jaxbn.drawing.report import payload
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.inference.questions import joint, log_chance
from tests.helpers.browser import NODE
from tests.helpers.random_networks import random_network, representative

pytestmark = pytest.mark.skipif(NODE is None, reason="Node is not installed: the script is tested in the browser only")

READ = """
const input = JSON.parse(require("fs").readFileSync(0, "utf8")), variables = input.variables ?? [];
for (const v of variables) v.table &&= new Float64Array(new Uint8Array(Buffer.from(v.table, "base64")).buffer);
"""
ASK = """
const rows = input.rows ? new Uint16Array(new Uint8Array(Buffer.from(input.rows, "base64")).buffer) : null;
const answers = input.questions.map(({known, limits}) => {
  const start = performance.now(), a = Inference.answer(variables, new Map(known), limits, rows);
  return {...a, marginals: a.marginals.map(m => m && [...m]), milliseconds: performance.now() - start};
});
process.stdout.write(JSON.stringify(answers));
"""


def run(script: str, document: Any) -> Any:
    folder = files("jaxbn.drawing.report") / "script"
    library = "".join(
        (folder / f"{name}.js").read_text(encoding="utf-8") for name in ("inference", "known", "lines", "numbers")
    )
    done = subprocess.run(
        [str(NODE), "-e", library + READ + script], input=json.dumps(document), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ask(net: BayesNet, questions: list[dict[str, Any]], most_cells: int | None = None) -> list[dict[str, Any]]:
    return run(ASK, {**json.loads(payload(net, None, most_cells)), "questions": questions})


def random_weights(net: BayesNet, rng: np.random.Generator) -> dict[str, np.ndarray]:
    found = {}
    for name in rng.permutation(net.names).tolist()[: int(rng.integers(0, 4))]:
        weights = rng.random(net.cardinalities[name]) * (rng.random(net.cardinalities[name]) < 0.6)
        found[name] = weights if weights.any() else np.ones(len(weights))
    return found


@pytest.mark.parametrize("limits", [{}, {"cells": 200, "effort": 1e9}])
def test_chances_are_those_of_exact_inference(limits: dict[str, float]) -> None:
    for seed in range(20):
        net, rng = random_network(seed, most=12), np.random.default_rng(seed)
        asked = [random_weights(net, rng) for _ in range(4)]
        known = [[(net.names.index(name), w.tolist()) for name, w in weights.items()] for weights in asked]
        for weights, answer in zip(asked, ask(net, [{"known": k, "limits": limits} for k in known]), strict=True):
            for i, name in enumerate(net.names):
                if answer["marginals"][i] is None:
                    assert i in answer["tooLarge"]
                elif np.count_nonzero(weights.get(name, [1, 1])) > 1:
                    np.testing.assert_allclose(answer["marginals"][i], joint(net, [name], weights), rtol=0, atol=1e-12)


def test_the_probability_of_what_is_known() -> None:
    net = random_network(4, most=7)
    for i, name in enumerate(net.names):
        weights = np.random.default_rng(i).random(net.cardinalities[name])
        (answer,) = ask(net, [{"known": [(i, weights.tolist())]}])
        assert np.exp(answer["logProbability"]) == pytest.approx(joint(net, [name], {}) @ weights, rel=1e-12)


def test_what_cannot_happen_is_said() -> None:
    net = BayesNet({"a": (), "b": ("a",)}, {}, {"a": (0, 1), "b": (0, 1)}, {"a": [1.0, 0.0], "b": np.eye(2)}, {})
    (answer,) = ask(net, [{"known": [(1, [0, 1])]}])
    assert answer["impossible"]


def many(n: int, states: int, most_parents: int, window: int) -> BayesNet:
    """A network of n columns, each with parents among those shortly before it."""
    rng, names = np.random.default_rng(0), [f"c{i}" for i in range(n)]
    parents = {}
    for i, name in enumerate(names):
        near = names[max(0, i - window) : i]
        parents[name] = tuple(rng.permutation(near)[: int(rng.integers(1, most_parents + 1))].tolist())
    tables = {name: rng.dirichlet(np.ones(states), size=[states] * len(parents[name])) for name in names}
    return BayesNet(parents, {}, {name: tuple(range(states)) for name in names}, tables, {})


@pytest.mark.parametrize(("n", "window"), [(31, 31), (60, 12), (100, 8)])
def test_networks_of_many_columns_are_answered_at_once(n: int, window: int) -> None:
    net = many(n, 5, 2, window)
    asked = [{"known": []}, {"known": []}, {"known": [(3, [0, 1, 0, 0, 0]), (n // 2, [0.5, 1, 0, 0, 0])]}]
    *_, answer = ask(net, asked)
    weights = {"c3": np.eye(5)[1], f"c{n // 2}": np.array([0.5, 1, 0, 0, 0])}
    for i in (0, 5, n - 1):
        np.testing.assert_allclose(answer["marginals"][i], joint(net, [f"c{i}"], weights), rtol=0, atol=1e-12)
    assert answer["cells"] < 2e6  # about 100 ms; seconds are not asserted, as the machine may be busy


def test_a_question_that_is_too_large_is_said_and_the_others_are_answered() -> None:
    document = json.loads(payload(many(40, 6, 3, 40), None))
    del document["rows"]
    (answer,) = run(ASK, {**document, "questions": [{"known": [], "limits": {"cells": 2000, "effort": 1e9}}]})
    assert answer["tooLarge"]
    assert answer["marginals"][0] is not None
    for i in answer["tooLarge"]:
        assert answer["marginals"][i] is None


PARSE = """
const said = input.sentences.map(text => {
  const found = Known.parseAll(variables, text);
  return found && Known.toFragment(variables, new Map(found));
});
process.stdout.write(JSON.stringify(said));
"""


def test_sentences_are_understood() -> None:
    import jaxbn

    data = {"mpg": [1.0, 2.0, 3.0], "mpg 2": [1.0, 2.0, 3.0], "origin": ["usa", "new york", "usa"], "doors": [2, 3, 5]}
    net = jaxbn.fit(data, {}, {"mpg": [1.5], "mpg 2": [1.5]})
    sentences = {
        "mpg > 2": "mpg=2:", "mpg>=2.5": "mpg=2.5:", "MPG < 2": "mpg=:2", "mpg between 1 and 2": "mpg=1:2",
        "mpg 1 to 2": "mpg=1:2", "mpg = 1:2": "mpg=1:2", "mpg = 1.2": "mpg=1.2", "mpg = bin2": "mpg=bin2",
        "mpg 2 > 1": "mpg%202=1:",
        "origin = usa": "origin=usa", "origin is new york": "origin=new%20york", "origin = USA": "origin=usa",
        "mpg > 2 and origin = usa": "mpg=2:&origin=usa", "mpg between 1 and 2 and origin is usa": "mpg=1:2&origin=usa",
        "origin = usa, new york": "origin=new%20york,usa", "origin = usa, mpg 2 < 3": "origin=usa&mpg%202=:3",
        "set mpg = 2; origin = usa": "do:mpg=2&origin=usa", "do(origin = usa)": "do:origin=usa", "set mpg > 2": None,
        "mpg > 2 and": None, "mpg > 2 and origin = mars": None, "origin = mars": None, "mpg": None,
        "doors > 2": "doors=3,5", "doors <= 3": "doors=2,3", "doors 3 to 5 and mpg > 2": "doors=3,5&mpg=2:",
        "set doors >= 5": "do:doors=5", "doors > 5": None, "origin > 2": None, "doors > many": None,
        "weight > 3": None, "mpg > soon": None, "mpg = 3:1": None,
    }  # fmt: skip
    found = run(PARSE, {**json.loads(payload(net, None)), "sentences": list(sentences)})
    assert dict(zip(sentences, found, strict=True)) == sentences


WRITE = """
const said = input.sentences.map(text => {
  const found = Known.parseAll(variables, text);
  return found && found.map(([i, what]) => Known.words(variables[i], what)).join(", ");
});
process.stdout.write(JSON.stringify([said, variables.map(v => Numbers.marks(v).map(([, text]) => text))]));
"""


def test_dates_are_read_and_written_as_dates() -> None:
    """The page proposed "day > 2016-02-24", which it did not understand, and its axes had days since 1970."""
    import pandas as pd

    import jaxbn

    day = pd.Series(["2013-12-30", "2015-03-01", "2018-01-02"])
    data = {"day": day, "time": pd.to_datetime(day) + pd.to_timedelta(90, "min"), "lasts": ["0:30:00", "1:00", "3:05"]}
    known = jaxbn.Columns(cuts={"day": ["2016-02-24"], "time": ["2016-02-24 12:00"], "lasts": ["1:30:00"]})
    net = jaxbn.fit(data, {}, jaxbn.discretize(data, {}, columns=known).codings)
    sentences = {
        "day > 2016-02-24": "2016-02-24 or more", "day 2014-05-01 to 2015-01-01": "2014-05-01 to 2015-01-01",
        "day = 2015-03-02": "2015-03-02", "day < 16500": "up to 2015-03-06", "day > soon": None,
        "day > 2016": "2016-01-01 or more", "day = 2015-03:2016": "2015-03-01 to 2016-01-01",
        "time >= 2015-03-01 01:30 and day < 2016-01-01": "2015-03-01 01:30 or more, up to 2016-01-01",
        "time < 2016-02-24": "up to 2016-02-24", "lasts > 0:45": "0:45:00 or more", "lasts = 1 day 1:00:01": "25:00:01",
    }  # fmt: skip
    document = {**json.loads(payload(net, None)), "sentences": list(sentences)}
    found, marks = run(WRITE, document)
    assert dict(zip(sentences, found, strict=True)) == sentences
    assert run(PARSE, document)[:2] == ["day=2016-02-24:", "day=2014-05-01:2015-01-01"]
    years = ["2014", "2015", "2016", "2017", "2018"]
    assert marks == [years, years, ["1:00:00", "2:00:00", "3:00:00"]]


def test_percentages_have_the_fewest_digits_that_tell_them_apart() -> None:
    lists = [
        [0.5, 0.5],
        [0.25, 0.75],
        [0.912, 0.088],
        [0.504, 0.496],
        [0.1234, 0.1235, 0.7531],
        [1, 0],
        [0.99999, 1e-5],
    ]
    found = run("process.stdout.write(JSON.stringify(input.lists.map(Numbers.percentages)))", {"lists": lists})
    assert found == [
        ["50%", "50%"], ["25%", "75%"], ["91%", "9%"], ["50.4%", "49.6%"], ["12.34%", "12.35%", "75.31%"],
        ["100%", "0%"], [">99.99%", "<0.01%"],
    ]  # fmt: skip


def test_variables_whose_tables_are_too_large_are_answered_by_drawn_rows() -> None:
    net = many(12, 4, 2, 4)
    known = [[], [(5, [0, 1, 0, 0])], [(11, [0.5, 1, 0, 0]), (2, [1, 0, 0, 0])]]
    small = ask(net, [{"known": k} for k in known], most_cells=60)
    for k, answer in zip(known, small, strict=True):
        weights = {f"c{i}": np.array(w, float) for i, w in k}
        assert answer["drawn"]
        assert answer["tooLarge"] == []
        for i, name in enumerate(net.names):
            expected = joint(net, [name], weights) if name not in weights else None
            if expected is not None:
                exact = i not in answer["drawn"]
                np.testing.assert_allclose(answer["marginals"][i], expected, rtol=0, atol=1e-12 if exact else 0.05)
    assert small[0]["fitting"] == 20_000
    assert 100 < small[2]["fitting"] < 20_000
    assert np.exp(small[2]["logProbability"]) == pytest.approx(np.exp(log_chance(net, weights)), rel=0.1)
    (exact,) = ask(net, [{"known": known[1]}])
    assert "drawn" not in exact  # the page carries no rows where it can do without them


def test_networks_too_large_to_sum_over_are_answered_by_drawn_rows() -> None:
    net = many(40, 6, 3, 40)
    (answer,) = ask(net, [{"known": [], "limits": {"cells": 2000, "effort": 1e9}}])
    assert answer["tooLarge"] == []
    assert 0 < len(answer["drawn"]) < 40
    assert all(marginal is not None for marginal in answer["marginals"])


SET = """
const found = input.questions.map(({set, known}) => {
  const asked = Inference.mutilated(variables, new Set(set));
  return Inference.answer(asked, new Map(known)).marginals.map(m => [...m]);
});
process.stdout.write(JSON.stringify(found));
"""


def test_what_is_set_is_that_of_do() -> None:
    for seed in range(10):
        net, rng = random_network(seed, most=8), np.random.default_rng(seed)
        names = rng.permutation(net.names).tolist()[:2]
        codes = {name: int(rng.integers(net.cardinalities[name])) for name in names}
        known = [(net.names.index(n), np.eye(net.cardinalities[n])[codes[n]].tolist()) for n in names]
        question = {"set": [net.names.index(names[0])], "known": known}
        (found,) = run(SET, {**json.loads(payload(net, None)), "questions": [question]})
        values = {name: representative(net, name, codes[name]) for name in names}
        given = {name: values[name] for name in names[1:]}
        for name, chances in zip(net.names, found, strict=True):
            if name not in names:
                expected = net.query(name, given, do={names[0]: values[names[0]]})
                np.testing.assert_allclose(chances, expected, rtol=0, atol=1e-9)


LEAN = """
const found = input.questions.map(({target, known, states}) =>
  Lines.lean(variables, target, new Map(known), new Map(states)));
const normal = [-6, -1.5, 0, 0.3, 4].map(Lines.normal), quantile = [1e-9, 0.01, 0.3, 0.5, 0.999].map(Lines.quantile);
process.stdout.write(JSON.stringify({found, normal, quantile}));
"""


def test_curves_follow_the_numbers_of_parents_as_lines_do() -> None:
    from scipy.special import ndtr, ndtri

    import jaxbn
    from jaxbn.model.lines.rows import lean

    rng = np.random.default_rng(0)
    x, kind = rng.gamma(3.0, 2.0, 3000).round(1), rng.integers(0, 2, 3000)
    data = {"x": x, "kind": kind.astype(str), "y": 3 * x + kind + rng.normal(size=3000) * 0.5}
    net = jaxbn.learn(data, max_bins=4, progress=False)
    target = next(name for name, line in net.lines.items() if line.parents)
    (parent,) = net.lines[target].parents
    by_numbers = replace(net, lines={n: line.without(line.children) for n, line in net.lines.items()})
    lows, highs = net.bounds[parent]
    values = np.linspace(lows, highs, 7).tolist()
    questions, rows = [], []
    for value in values:
        code = int(net.binnings[parent](np.array([value]))[0])
        known = [(net.names.index(parent), {"value": value}), (net.names.index("kind"), {"states": [1]})]
        states = [(net.names.index(parent), code), (net.names.index("kind"), 1)]
        questions.append({"target": net.names.index(target), "known": known, "states": states})
        row = np.full((1, 3), -1, np.int32)
        for place, state in states:
            row[0, place] = state
        rows.append(lean(by_numbers, target, row, {parent: np.array([value])}))
    answer = run(LEAN, {**json.loads(payload(net, None)), "questions": questions})
    np.testing.assert_allclose(answer["normal"], ndtr([-6, -1.5, 0, 0.3, 4]), rtol=1e-12)
    np.testing.assert_allclose(answer["quantile"], ndtri([1e-9, 0.01, 0.3, 0.5, 0.999]), rtol=1e-12)
    for found, expected in zip(answer["found"], rows, strict=True):
        np.testing.assert_allclose([b["mean"] for b in found["bins"]], expected.mean[0], atol=1e-4)
        np.testing.assert_allclose([b["scale"] for b in found["bins"]], expected.scale[0], rtol=1e-5)


TOLD = """
const answers = input.questions.map(known => Inference.answer(
  Lines.toldByRanges(variables, new Map(known.map(([i, range]) => [i, {range}]))),
  new Map(known.map(([i, range]) => [i, Known.weights(variables[i], {range})]))).marginals.map(m => [...m]));
process.stdout.write(JSON.stringify(answers));
"""


@pytest.mark.parametrize("name", ["auto_mpg", "seeds", "housing"])
def test_a_range_inside_a_bin_tells_what_the_line_says_of_it(name: str) -> None:
    import jaxbn

    data = jaxbn.datasets.load(name)
    net = jaxbn.learn(data.frame, max_bins=4, restarts=1, progress=False)
    rng, asked, questions = np.random.default_rng(1), [], []
    for target in net.lines:
        low, high = np.sort(rng.choice(data.frame[target], 2, replace=False)).tolist()
        asked.append({target: (low, high + 1e-3)})
        questions.append([(net.names.index(target), (low, high + 1e-3))])
    answers = run(TOLD, {**json.loads(payload(net, None)), "questions": questions})
    for given, found in zip(asked, answers, strict=True):
        for variable, chances in zip(net.names, found, strict=True):
            if variable not in given:
                np.testing.assert_allclose(chances, net.query(variable, given), rtol=0, atol=1e-9)
