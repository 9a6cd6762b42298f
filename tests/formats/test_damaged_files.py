"""Damaged files: every one gives a network that works, or one ValueError that says where and what."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxbn
from jaxbn.formats.json_file import from_dict, to_dict
from jaxbn.model.bayesnet import BayesNet

STRANGE = [
    None, True, False, 0, -1, 1, 3, 10**400, 0.5, -0.5, 1e999, float("nan"), "", "nan", "x", "kind", "size", [], [0.5],
    [[]], [1, "a"], [None], {}, {"name": "x"}, 2**63, "inf",
]  # fmt: skip


def small_network() -> BayesNet:
    """Continuous, discrete and grouped variables, parents, and weights of its own."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 60)
    data = {
        "kind": [("a", "b", "c")[k] for k in kind],
        "size": (kind + rng.normal(size=60)).tolist(),
        "town": [f"t{i % 5}" for i in range(60)],
        "up": [bool(i % 2) for i in range(60)],
    }
    towns = jaxbn.Grouping([["t0", "t3"], ["t1", "t2", "t4"]])
    return jaxbn.fit(
        data, {"size": ["kind", "town"], "up": ["size"]}, {"size": [0.5, 1.5], "town": towns}, alpha={"up": 2.0}
    )


NET = small_network()


def works(net: BayesNet, folder: Path, number: int) -> None:
    """A network that was read can do what networks do; every tenth is written and read again."""
    rows = net.sample(3, seed=0)
    assert np.isfinite(net.log_likelihood(rows)).all()
    for name in net.names:
        assert net.query(name).sum() == pytest.approx(1.0)
    assert net.predict(rows, net.names[0]).size == 3
    assert repr(net)
    if number % 10:
        return
    net.save(folder / "again.json")
    net.to_bif(folder / "again.bif")
    assert jaxbn.load(folder / "again.json").names == jaxbn.read_bif(folder / "again.bif").names == net.names


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document."""
    yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*path, key))


def damaged(document: Any, rng: np.random.Generator) -> tuple[Any, tuple[Any, ...]]:
    """A copy with one value replaced, removed or doubled, and its place."""
    result = copy.deepcopy(document)
    every = list(places(result))[1:]
    path = every[int(rng.integers(len(every)))]
    inner = result
    for key in path[:-1]:
        inner = inner[key]
    change = rng.random()
    if change < 0.2:
        del inner[path[-1]]
    elif change < 0.3 and isinstance(inner, list):
        inner.append(inner[path[-1]])
    else:
        inner[path[-1]] = STRANGE[int(rng.integers(len(STRANGE)))]
    return result, path


FIELDS = {str(key) for path in places(to_dict(NET)) for key in path if isinstance(key, str)} | {"cuts", "variable"}


def names_a_field(message: str) -> bool:
    """Whether a message names a field; damage in one can show in another, such as the table of a child."""
    return bool(FIELDS & set(re.findall(r"\w+", message.removeprefix("net.json is damaged"))))


def test_a_saved_network_damaged_at_random_works_or_names_the_field(tmp_path: Path) -> None:
    document = json.loads(json.dumps(to_dict(NET)))
    rng = np.random.default_rng(1)
    outcomes = {"works": 0, "refused": 0}
    for _ in range(3000):
        changed, path = damaged(document, rng)
        try:
            net = from_dict(changed, "net.json")
        except ValueError as error:
            message = str(error)
            assert message.startswith("net.json "), (path, message)
            assert names_a_field(message), (path, message)
            outcomes["refused"] += 1
        else:
            works(net, tmp_path, outcomes["works"])
            outcomes["works"] += 1
    assert min(outcomes.values()) > 100, outcomes


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("n_rows",), 1e999, "'n_rows' must be a whole number, got inf"),
        (("n_rows",), "many", "'n_rows' must be a whole number, got 'many'"),
        (("alpha",), 0, "'alpha' must be a finite number above zero, got 0"),
        (("alphas", "up"), -1, "'alphas.up' must be a finite number above zero, got -1"),
        (("variables", 1, "name"), "kind", r"'variables\[1\].name' must differ from the others, got 'kind' twice"),
        (("variables", 1, "parents", 0), "kimd", r"'variables\[1\].parents\[0\]' must name another variable"),
        (("variables", 1, "policy", "edges"), [1.5, 0.5], r"'variables\[1\].policy': cuts must be .* ascending"),
        (("variables", 1, "policy", "method"), None, r"'variables\[1\].policy.method' must be a text, got None"),
        (("variables", 1, "bounds"), [0.0], r"'variables\[1\].bounds' must be two numbers"),
        (("variables", 0, "levels", 1), "a", r"'variables\[0\].levels' must have at least one level, and each once"),
        (("variables", 0, "levels", 1), {"x": 1}, r"'variables\[0\].levels\[1\]' must be a text, a number, or true"),
        (("variables", 0, "table"), [0.5, "x"], r"'variables\[0\].table' must be a list of numbers"),
        (("variables", 2, "grouping", "groups", 0, 0), 7, r"'variables\[2\].grouping': "),
    ],
)
def test_damage_is_named_by_its_place(path: tuple[Any, ...], value: Any, message: str) -> None:
    document = json.loads(json.dumps(to_dict(NET)))
    inner: Any = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(ValueError, match=message):
        from_dict(document)


def test_a_number_too_large_for_a_float_in_a_file(tmp_path: Path) -> None:
    NET.save(tmp_path / "net.json")
    text = (tmp_path / "net.json").read_text()
    (tmp_path / "net.json").write_text(text.replace('"n_rows": 60', '"n_rows": 1e999'))
    with pytest.raises(ValueError, match="'n_rows' must be a whole number, got inf; save the network again"):
        jaxbn.load(tmp_path / "net.json")
    (tmp_path / "net.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match="is truncated or not a JSON file"):
        jaxbn.load(tmp_path / "net.json")


ELSEWHERE = b"""network rain {
  property author = someone;
}
variable rain {
  type discrete [ 2 ] { yes, no };
}
variable wet {
  type discrete [ 3 ] { dry, damp, soaked };
}
variable slip {
  type discrete [ 2 ] { yes, no };
}
probability ( rain ) {
  table 0.2, 0.8;
}
probability ( wet | rain ) {
  (yes) 0.1, 0.3, 0.6;
  (no) 0.5, 0.25, 0.25;
}
probability ( slip | wet, rain ) {
  default 0.5, 0.5;
  (dry, no) 0.01, 0.99;
}
"""


def damaged_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """One to three changes: a byte replaced, a piece cut out or doubled, a word exchanged, or the end cut off."""
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(content)))
        end = min(len(content), at + int(rng.integers(1, 12)))
        change = int(rng.integers(5))
        if change == 0:
            content = content[:at] + bytes([int(rng.integers(256))]) + content[at + 1 :]
        elif change == 1:
            content = content[:at] + content[end:]
        elif change == 2:
            content = content[:end] + content[at:]
        elif change == 3:
            words = sorted(set(re.findall(rb"[\w.]+|[{}()|;,\[\]]", content)))
            old, new = (words[int(rng.integers(len(words)))] for _ in range(2))
            content = content.replace(old, new, 1)
        else:
            content = content[: max(at, 1)]
    return content


@pytest.mark.parametrize("from_jaxbn", [False, True])
def test_a_bif_file_damaged_at_random_works_or_has_the_line(tmp_path: Path, from_jaxbn: bool) -> None:
    NET.to_bif(tmp_path / "net.bif")
    content = (tmp_path / "net.bif").read_bytes() if from_jaxbn else ELSEWHERE
    path, rng = tmp_path / "damaged.bif", np.random.default_rng(2)
    outcomes = {"works": 0, "refused": 0}
    for _ in range(800):
        path.write_bytes(damaged_bytes(content, rng))
        try:
            net = jaxbn.read_bif(path)
        except ValueError as error:
            message = str(error)
            assert re.search(r"damaged\.bif', line \d+: expected .+, found ", message, re.DOTALL), message
            outcomes["refused"] += 1
        else:
            works(net, tmp_path, outcomes["works"])
            outcomes["works"] += 1
    assert min(outcomes.values()) > 20, outcomes


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("( wet | rain )", "( wet | hail )", "line 16: expected a declared variable, found 'hail'"),
        ("(no) 0.5", "(maybe) 0.5", "line 18: expected one of the states yes, no, found 'maybe'"),
        ("(no) 0.5", "(no, no) 0.5", "line 18: expected 1 states of the parents, found 2"),
        ("0.1, 0.3, 0.6", "0.1, 0.3", "line 17: expected 3 probabilities, found 2"),
        ("0.1, 0.3, 0.6", "0.1, 0.3, 0.7", "line 17: expected probabilities that sum to 1, found 1.1"),
        ("0.1, 0.3, 0.6", "0.1, 0.3, 1.6", "line 17: expected a probability from 0 to 1, found '1.6'"),
        ("0.1, 0.3, 0.6", "0.1, x, 0.6", "line 17: expected a probability, found 'x'"),
        ("  (yes) 0.1, 0.3, 0.6;\n", "", "line 18: expected a row for (yes), found '}'"),
        ("( rain ) {", "( rain | slip ) {", "line 20: expected a parent of 'slip' that closes no cycle"),
        ("[ 2 ] { yes, no };\n}\nvariable wet", "[ 3 ] { yes, no };\n}\nvariable wet", "line 5: expected 3 states"),
        (
            "yes, no };\n}\nvariable wet",
            "yes, yes };\n}\nvariable wet",
            "line 5: expected a state that 'rain' does not",
        ),
        ("variable slip", "variable wet", "line 10: expected a variable that is not declared yet, found 'wet'"),
        (
            "probability ( slip | wet, rain )",
            "probability ( wet )",
            "expected a variable that has no probabilities yet",
        ),
        ("type discrete [ 3 ]", "type continuous [ 3 ]", "line 8: expected 'discrete', found 'continuous'"),
        ("  table 0.2, 0.8;\n", "", "line 14: expected 'table' with the probabilities, found '}'"),
    ],
)
def test_what_was_expected_is_said(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = ELSEWHERE.decode()
    if "slip )" in new:  # the cycle needs a table that fits
        text = text.replace("table 0.2, 0.8", "default 0.2, 0.8")
    assert old in text
    (tmp_path / "net.bif").write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=re.escape(message)):
        jaxbn.read_bif(tmp_path / "net.bif")


SMALL_BIF = (
    "network n {{ }}\nvariable a {{ type discrete [ {} ] {{ x, y }}; }}\nprobability ( a ) {{ table {}, 0.7; }}\n"
)


@pytest.mark.parametrize(("count", "first"), [("2" * 5000, "0.3"), ("2", "1" * 5000)])
def test_numbers_of_many_digits_in_a_bif_file(tmp_path: Path, count: str, first: str) -> None:
    (tmp_path / "long.bif").write_text(SMALL_BIF.format(count, first))
    with pytest.raises(ValueError, match=r"long.bif', line [23]: expected .{1,40}, found .{1,40}$"):
        jaxbn.read_bif(tmp_path / "long.bif")


def test_rows_of_a_bif_file_sum_to_one(tmp_path: Path) -> None:
    (tmp_path / "rounded.bif").write_text(SMALL_BIF.format(2, 0.3000003))
    assert abs(jaxbn.read_bif(tmp_path / "rounded.bif").tables["a"].sum() - 1) < 1e-15


def test_a_damaged_average_is_named(tmp_path: Path) -> None:
    nets = [jaxbn.fit({"x": [0.0, 1.0, top]}, {}, {"x": [0.5]}) for top in (4.0, 5.0)]
    document = {"format": "jaxbn.AverageNet", "version": 1, "networks": [to_dict(net) for net in nets]}
    (tmp_path / "average.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"average.json' is damaged: networks must have the same variables"):
        jaxbn.load(tmp_path / "average.json")
