"""The BIF text format, which most programs read: written, and read with the line of everything that is wrong."""

from __future__ import annotations

import itertools
import math
import re
import reprlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from jaxbn.formats.record import Record, exact, normalized, sums_not_one
from jaxbn.inputs.checks import is_number
from jaxbn.inputs.graph import MAX_TABLE_CELLS

_BLANK = r"(?:\s+|//[^\n]*|/\*.*?\*/)*"
_TOKEN = re.compile(
    rf"""{_BLANK}(?:"(?P<quoted>[^"\n]*)"|(?P<word>(?:(?!//|/\*)[^\s{{}}()\[\]|,;])+)|(?P<mark>.)?)""", re.S
)
_ROW = re.compile(r"""\(([^(){}\[\]|;/"]*)\)([\d.eE+\-,\s]+);""")  # states of parents and probabilities, most of a file
END = "the end of the file"
CLOSE = 1e-6  # rows whose sums are further from 1 are looked at more closely


class Token(NamedTuple):
    """A word or a mark, and where it begins."""

    text: str
    start: int
    is_word: bool


def to_bif(record: Record) -> str:
    """The text of a BIF file."""
    blocks = ["network jaxbn {\n}", f"// {record.comment}"]
    if record.left_out:
        blocks.append(f"// left out, as other programs refuse variables of one state: {', '.join(record.left_out)}")
    for name, states in record.states.items():
        blocks.append(f"variable {name} {{\n  type discrete [ {len(states)} ] {{ {', '.join(states)} }};\n}}")
    return "\n".join([*blocks, *(_block(record, name) for name in record.states)]) + "\n"


def _block(record: Record, name: str) -> str:
    """The probabilities of a variable."""
    table, parents = record.tables[name], record.parents[name]
    if not parents:
        return f"probability ( {name} ) {{\n  table {exact(table)};\n}}"
    configurations = itertools.product(*(record.states[parent] for parent in parents))
    rows = zip(configurations, table.reshape(-1, table.shape[-1]), strict=True)
    lines = [f"  ({', '.join(states)}) {exact(row)};" for states, row in rows]
    return "\n".join([f"probability ( {name} | {', '.join(parents)} ) {{", *lines, "}"])


def parse_bif(text: str, source: str) -> Record:
    """The variables and tables of a BIF text; an error names the source and the line."""
    return _Parser(text, source).file()


class _Parser:
    """Reads a text from the first to the last token; each method reads what its name says."""

    def __init__(self, text: str, source: str) -> None:
        self._text, self._source = text, source
        self._found = Record({}, {}, {})
        self._go(0)

    def file(self) -> Record:
        blocks = {"network": self._network, "variable": self._variable, "probability": self._probability}
        while (token := self._take()).text != END:
            self._check(token.text in blocks, token, "'network', 'variable' or 'probability'")
            blocks[token.text]()
        self._check(bool(self._found.states), token, "a variable; is it a BIF file?")
        lacking = [repr(name) for name in self._found.states if name not in self._found.tables]
        self._check(not lacking, token, f"probabilities for {', '.join(lacking)}")
        return self._found

    def _network(self) -> None:
        if self._next.is_word:
            self._take()
        self._expect("{")
        self._properties()
        self._expect("}")

    def _properties(self) -> None:
        """Properties, if there are some; nothing is read from them."""
        while self._next.text == "property":
            while (token := self._take()).text != ";":
                self._check(token.text != END, token, "';'")

    def _variable(self) -> None:
        name = self._word("the name of a variable")
        self._check(name.text not in self._found.states, name, "a variable that is not declared yet")
        self._expect("{")
        self._properties()
        self._expect("type", "discrete", "[")
        count = self._word("the number of states")
        is_count = count.text.isdecimal() and len(count.text) < 10 and int(count.text) > 0  # int() refuses long texts
        self._check(is_count, count, "the number of states")
        self._expect("]", "{")
        states: dict[str, None] = {}
        for state in self._list("}", "a state", "states", int(count.text)):
            self._check(state.text not in states, state, f"a state that {name.text!r} does not have yet")
            states[state.text] = None
        self._expect(";")
        self._properties()
        self._expect("}")
        self._found.states[name.text] = tuple(states)

    def _probability(self) -> None:
        self._expect("(")
        child = self._word("the name of a variable")
        self._check(child.text in self._found.states, child, "a declared variable")
        self._check(child.text not in self._found.tables, child, "a variable that has no probabilities yet")
        parents: list[str] = []
        if self._next.text == "|":
            self._take()
            for parent in self._list(")", "a parent"):
                self._check(parent.text in self._found.states, parent, "a declared variable")
                right = parent.text not in parents and child.text not in self._with_ancestors(parent.text)
                self._check(right, parent, f"a parent of {child.text!r} that closes no cycle and is not named twice")
                parents.append(parent.text)
        else:
            self._expect(")")
        self._found.parents[child.text] = tuple(parents)
        self._found.tables[child.text] = self._table([self._found.states[name] for name in (*parents, child.text)])

    def _with_ancestors(self, name: str) -> set[str]:
        """A variable and its ancestors, as far as the file was read."""
        waiting, seen = [name], {name}
        while waiting:
            new = set(self._found.parents.get(waiting.pop(), ())) - seen
            seen |= new
            waiting += new
        return seen

    def _table(self, states: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """The probabilities of a family, whose last member is the child."""
        shape = tuple(map(len, states))
        cells, most = math.prod(shape), MAX_TABLE_CELLS
        self._check(cells <= most, self._next, f"a table of at most {most:,} cells", f"{cells:,}")
        table = np.full(shape, np.nan)
        places = [{state: i for i, state in enumerate(known)} for known in states[:-1]]
        self._expect("{")
        while self._next.text != "}":
            if self._row(table, places):
                continue
            if self._next.text == "property":
                self._properties()
                continue
            token = self._take()
            if token.text == "table":  # without states in front: the child's states vary slowest
                numbers = self._numbers(cells).reshape(shape[-1:] + shape[:-1])
                table[...] = self._summed(np.moveaxis(numbers, 0, -1), token)
            elif token.text == "default":
                table[np.isnan(table).any(axis=-1)] = self._summed(self._numbers(shape[-1]), token)
            elif token.text == "(" and places:
                cell = self._configuration(states[:-1])
                table[cell] = self._summed(self._numbers(shape[-1]), token)
            else:
                self._fail(token, "'table', 'default' or the states of the parents in parentheses")
        absent = np.argwhere(np.isnan(table).any(axis=-1))
        if len(absent):
            labels = ", ".join(known[code] for known, code in zip(states, absent[0], strict=False))
            self._fail(self._next, f"a row for ({labels})" if labels else "'table' with the probabilities")
        self._expect("}")
        return self._summed(table, self._next)

    def _row(self, table: NDArray[np.float64], places: Sequence[Mapping[str, int]]) -> bool:
        """Read a row in one step if all is right with it; otherwise token by token, which finds out what is wrong."""
        found = _ROW.match(self._text, self._next.start)
        if found is None:
            return False
        try:
            cell = tuple([place[label.strip()] for place, label in zip(places, found[1].split(","), strict=True)])
            row = [float(number) for number in found[2].split(",")]
        except (KeyError, ValueError):
            return False
        if len(row) != table.shape[-1] or min(row) < 0 or max(row) > 1 or abs(sum(row) - 1) > CLOSE or not cell:
            return False
        table[cell] = row
        self._go(found.end())
        return True

    def _configuration(self, states: Sequence[Sequence[str]]) -> tuple[int, ...]:
        """The states of the parents before a row of probabilities, as codes."""
        found = self._list(")", "a state", "states of the parents", len(states))
        for token, known in zip(found, states, strict=True):
            self._check(token.text in known, token, f"one of the states {', '.join(known)}")
        return tuple(known.index(token.text) for token, known in zip(found, states, strict=True))

    def _numbers(self, count: int) -> NDArray[np.float64]:
        """Probabilities up to a semicolon."""
        tokens = self._list(";", "a probability", "probabilities", count)
        for token in tokens:
            self._check(is_number(token.text), token, "a probability")
            self._check(0 <= float(token.text) <= 1, token, "a probability from 0 to 1")
        return np.array([float(token.text) for token in tokens])

    def _summed(self, table: NDArray[np.float64], token: Token) -> NDArray[np.float64]:
        wrong = sums_not_one(table)
        if len(wrong):
            self._fail(token, "probabilities that sum to 1", f"{wrong[0]:.6g}")
        return normalized(table)

    def _list(self, end: str, item: str, items: str = "", count: int | None = None) -> list[Token]:
        """Words separated by commas or blanks, up to a mark; as many as there have to be."""
        found = []
        while self._next.text != end:
            found.append(self._word(item))
            if self._next.text == ",":
                self._take()
        self._expect(end)
        if count is not None and len(found) != count:
            self._fail(found[-1] if found else self._next, f"{count} {items}", str(len(found)))
        return found

    def _word(self, meaning: str) -> Token:
        token = self._take()
        self._check(token.is_word, token, meaning)
        return token

    def _expect(self, *texts: str) -> None:
        for text in texts:
            token = self._take()
            self._check(token.text == text, token, repr(text))

    def _take(self) -> Token:
        token = self._next
        self._go(self._end)
        return token

    def _go(self, place: int) -> None:
        """The next token is the first from a place on; the end stays."""
        found = _TOKEN.match(self._text, place)
        assert found is not None  # if only the end
        kind, self._end = found.lastgroup, found.end()
        self._next = Token(found[kind], found.start(kind), kind != "mark") if kind else Token(END, self._end, False)

    def _check(self, right: bool, token: Token, expected: str, found: str | None = None) -> None:
        if not right:
            self._fail(token, expected, found)

    def _fail(self, token: Token, expected: str, found: str | None = None) -> NoReturn:
        shown = found or (END if token.text == END and not token.is_word else reprlib.repr(token.text))
        line = self._text.count("\n", 0, token.start) + 1
        raise ValueError(f"{self._source}, line {line}: expected {expected}, found {shown}")
