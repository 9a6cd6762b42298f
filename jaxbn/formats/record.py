"""A network of discrete variables as every format of other programs has it, and what such formats lose.

Other programs know words only: names and states are reduced to letters, digits and underscores. What that loses
(original names, levels, cuts) is kept in a comment ``jaxbn {...}``, which other programs skip and ``read`` reads.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.formats.json_file import from_dict, to_dict
from jaxbn.inputs.checks import is_number
from jaxbn.inputs.graph import MAX_TABLE_CELLS, topological_order
from jaxbn.inputs.missing import LOG
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.words import state_texts

COMMENT = re.compile(r"^[ \t]*(?://|%|#|<!--) jaxbn (\{.*\})", re.MULTILINE)
RESERVED = {"network", "variable", "probability", "property", "type", "discrete", "default", "table"}
"""Words of the BIF format, which its readers look for anywhere."""

ROUNDING = 1e-12  # rows of a table whose sums differ from 1 by less than this are as exact as floats are


@dataclass(frozen=True)
class Record:
    """States, parents and tables of discrete variables, all by words."""

    states: dict[str, tuple[str, ...]]
    parents: dict[str, tuple[str, ...]]
    tables: dict[str, NDArray[np.float64]]  # [*states of the parents, own states]
    comment: str = ""  # what a file of jaxbn has beside
    left_out: tuple[str, ...] = ()  # variables of one state, which other programs refuse


def record_of(net: BayesNet) -> Record:
    """The network in words, without its variables of one state."""
    label = variable_labels(net.names)
    kept = [name for name in net.names if net.cardinalities[name] > 1] or list(net.names)
    dropped = tuple(label[name] for name in net.names if name not in kept)
    if dropped:
        words = ", ".join(dropped)
        LOG.warning("%s left out, as other programs refuse variables of one state; jaxbn.read restores them", words)
    parents = {name: [p for p in net.parents[name] if p in kept] for name in kept}
    return Record(
        {label[name]: net.state_labels(name) for name in kept},
        {label[name]: tuple(label[p] for p in found) for name, found in parents.items()},
        {
            label[name]: net.tables[name].reshape([net.cardinalities[v] for v in (*found, name)])
            for name, found in parents.items()
        },
        f"jaxbn {_description(net, kept)}",
        dropped,
    )


def network_of(record: Record, text: str, source: str) -> BayesNet:
    """The network of a file: as it was where jaxbn wrote the file, otherwise over words."""
    found = COMMENT.search(text)
    if found is None:
        return BayesNet(record.parents, {}, {**record.states}, record.tables, {})
    return _restored(found[1], record, f"{source}, line {text.count(chr(10), 0, found.start()) + 1}")


def checked(
    states: Mapping[str, Sequence[str]],
    parents: Mapping[str, Sequence[str]],
    numbers: Mapping[str, Sequence[Any]],
    source: str,
) -> Record:
    """What a file declares, if it is a network; an error names the source and the variable.

    Tables are lists of numbers, the child's states varying fastest, then those of the last parent.
    """
    if not states:
        raise ValueError(f"{source}: found no variable; is its ending that of its format?")
    tables = {}
    for name, own in states.items():
        if name not in parents or name not in numbers:
            raise ValueError(f"{source}: {name!r} has no table")
        if not own or len(set(own)) < len(own):
            raise ValueError(f"{source}: the states of {name!r} must be different, and at least one")
        family = (*parents[name], name)
        if strange := [parent for parent in family if parent not in states]:
            raise ValueError(f"{source}: {name!r} has the parent {strange[0]!r}, which is not declared")
        if len(set(family)) < len(family):
            raise ValueError(f"{source}: {name!r} has a parent twice, or itself")
        shape = [len(states[each]) for each in family]
        if len(numbers[name]) != math.prod(shape):
            raise ValueError(
                f"{source}: the table of {name!r} needs {math.prod(shape):,} numbers, found {len(numbers[name]):,}"
            )
        tables[name] = _table(numbers[name], shape, f"{source}: the table of {name!r}")
    found = {name: tuple(parents[name]) for name in states}
    try:
        topological_order(found)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    return Record({name: tuple(own) for name, own in states.items()}, found, tables)


def _table(numbers: Sequence[Any], shape: Sequence[int], what: str) -> NDArray[np.float64]:
    if math.prod(shape) > MAX_TABLE_CELLS:
        raise ValueError(f"{what} has {math.prod(shape):,} cells, more than {MAX_TABLE_CELLS:,}")
    try:
        table = np.array([float(number) for number in numbers]).reshape(shape)
    except ValueError:
        wrong = next(number for number in numbers if not is_number(number))
        raise ValueError(f"{what} must be numbers, found {reprlib.repr(wrong)}") from None
    if not (table >= 0).all() or len(sums_not_one(table)):
        raise ValueError(f"{what} must be probabilities that sum to 1 for each state of the parents")
    return normalized(table)


def exact(table: NDArray[np.float64], separator: str = ", ") -> str:
    """The numbers of a table in one line, with all their digits."""
    return separator.join(repr(float(p)) for p in table.ravel())


def sums_not_one(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums of the rows of a table that are not 1, even allowing for rounded digits."""
    sums = np.atleast_1d(table.sum(axis=-1))
    return sums[~np.isclose(sums, 1.0)]


def normalized(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows from which digits were left out sum to 1 now; the others stay as they are, bit for bit."""
    sums = table.sum(axis=-1, keepdims=True)
    return np.where(np.abs(sums - 1.0) > ROUNDING, table / sums, table)


def _description(net: BayesNet, kept: Sequence[str]) -> str:
    """Everything but the tables of the variables that are kept in the file itself."""
    document = to_dict(net)
    for variable in document["variables"]:
        if variable["name"] in kept:
            del variable["table"]
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    # other programs look for the ends of comments and for their own words without regard to quotes
    for strange, escaped in (("/", "\\u002f"), ("--", "\\u002d\\u002d"), (" ", "\\u0020")):
        text = text.replace(strange, escaped)
    return text


def _restored(description: str, record: Record, source: str) -> BayesNet:
    """The network with its original names, levels and cuts."""
    try:
        document = json.loads(description)
        names = [variable["name"] for variable in document["variables"]]
        sizes = {variable["name"]: _size(variable) for variable in document["variables"]}
        kept, label = [name for name in names if sizes[name] > 1] or names, variable_labels(names)
        if all(_same(label[name], word) for name, word in zip(kept, record.states, strict=False)):
            label |= dict(zip(kept, record.states, strict=True))
        dropped = {name for name in names if sizes[name] == 1 and label[name] not in record.states}
        variables = []
        for variable in document["variables"]:
            name, shape = variable["name"], [sizes[v] for v in (*variable["parents"], variable["name"])]
            table = variable["table"] if name in dropped else record.tables[label[name]].reshape(shape)
            variables.append({**variable, "table": table})
        net = from_dict({**document, "variables": variables}, "the network of this line")
        inside = {n: [label[p] for p in net.parents[n] if p not in dropped] for n in net.names if n not in dropped}
        if {label[n]: tuple(parents) for n, parents in inside.items()} != record.parents:
            raise ValueError("other parents")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise ValueError(
            f"{source}: expected a description of the network that fits the rest of the file, found {error!r}; delete "
            "the line to read the network without original names and cuts"
        ) from None
    return net


def _same(label: str, word: str) -> bool:
    """Whether a word of a file stands for a label: a number in some formats, and in older files without its letter."""
    return word.isdecimal() or word in (label, label[1:], f"_{label[1:]}")


def _size(variable: Mapping[str, Any]) -> int:
    """Number of states of a variable as the description has it."""
    if "policy" in variable:
        return len(variable["policy"]["edges"]) + 1
    return len(variable["grouping"]["groups"] if "grouping" in variable else variable["levels"])


def state_labels(net: BayesNet, name: str) -> tuple[str, ...]:
    """Labels of a variable's states, see ``BayesNet.state_labels``."""
    texts = state_texts(net, name)
    if name in net.groupings:
        return unique_labels(text.replace(",", "") for text in texts)
    if name in net.levels or net.binnings[name].labels:
        return unique_labels(texts)
    if net.binnings[name].unit.kind == "number":  # 15.25 as 15_25, -3 as minus_3, 1e-05 as 1eminus_05
        texts = [text.replace("-", "minus_").replace("+", "").replace(".", "_") for text in texts]
    return unique_labels(re.sub(r"^(?=[0-9])", "from_", text) for text in texts)


def variable_labels(names: Sequence[str]) -> dict[str, str]:
    """A label for each variable."""
    return dict(zip(names, unique_labels(names), strict=True))


def unique_labels(texts: Iterable[str]) -> tuple[str, ...]:
    """Names for other programs: a letter, then letters, digits and underscores, and never the same one twice.

    All writers of pyAgrum and GeNIe ask for that.
    """
    cleaned = [re.sub(r"^(?![A-Za-z])", "x", re.sub(r"[^A-Za-z0-9_]", "_", text)) for text in texts]
    cleaned = [f"{label}_" if label.lower() in RESERVED else label for label in cleaned]
    taken: dict[str, None] = {}
    for label in cleaned:
        candidate, number = label, 2
        while candidate in taken or (candidate != label and candidate in cleaned):
            candidate, number = f"{label}_{number}", number + 1
        taken[candidate] = None
    return tuple(taken)
