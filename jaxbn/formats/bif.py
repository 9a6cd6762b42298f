"""The BIF text format, which most programs read: written, and read with the line of everything that is wrong."""

from __future__ import annotations

import itertools
import math
import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from jaxbn.formats.record import ROUNDING, Record
from jaxbn.inputs.graph import MAX_TABLE_CELLS

_ROW = r"\([^(){}\[\]|;/\"]*\)[\d.eE+\-,\s]+;"  # states of parents and their probabilities, most of a large file
_TOKEN = re.compile(
    rf"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<row>{_ROW})
    |(?P<quoted>"[^"\n]*")
    |(?P<mark>[{{}}()\[\]|,;])
    |(?P<word>(?:(?!//|/\*)[^\s{{}}()\[\]|,;])+)
    |(?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
END = "the end of the file"
CLOSE = 1e-6  # rows whose sums are further from 1 are looked at more closely


class Token(NamedTuple):
    """A word, a mark, or a whole row of a table."""

    text: str
    line: int
    is_word: bool
    is_row: bool = False


def to_bif(record: Record) -> str:
    """The text of a BIF file.

    Example:
        >>> from jaxbn.formats.record import record_of
        >>> from jaxbn.model.fit import fit
        >>> print(to_bif(record_of(fit({"the x": [0.0, 1.0, 4.0]}, {}, {"the x": [2.0]}))))
        network jaxbn {
        }
        // jaxbn {...}
        variable the_x {
          type discrete [ 2 ] { below_2, from_2_or_more };
        }
        probability ( the_x ) {
          table 0.6, 0.4;
        }
    """
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
        return f"probability ( {name} ) {{\n  table {_line(table.ravel())};\n}}"
    configurations = itertools.product(*(record.states[parent] for parent in parents))
    rows = zip(configurations, table.reshape(-1, table.shape[-1]), strict=True)
    lines = [f"  ({', '.join(states)}) {_line(row)};" for states, row in rows]
    return "\n".join([f"probability ( {name} | {', '.join(parents)} ) {{", *lines, "}"])


def _line(row: NDArray[np.float64]) -> str:
    return ", ".join(repr(float(p)) for p in row)


def parse_bif(text: str, source: str) -> Record:
    """The variables and tables of a BIF text.

    Args:
        text: the whole file.
        source: its name, for messages.

    Raises:
        ValueError: something else than expected; the message has the line.

    Example:
        >>> text = "variable a { type discrete [ 2 ] { x, y }; } probability ( a ) { table 0.25, 0.75; }"
        >>> parse_bif(text, "a text").tables["a"].tolist()
        [0.25, 0.75]
        >>> parse_bif("variable a { type continuous; }", "a text")
        Traceback (most recent call last):
            ...
        ValueError: a text, line 1: expected 'discrete', found 'continuous'
    """
    return _Parser(list(_tokens(text)), source).file()


def _tokens(text: str) -> Iterator[Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind != "skip":
            quoted = kind == "quoted"
            yield Token(match[0][1:-1] if quoted else match[0], line, quoted or kind == "word", kind == "row")
        line += match[0].count("\n")
    yield Token(END, line, False)


def _taken_apart(row: Token) -> list[Token]:
    """The words and marks of a row."""
    inner = _tokens(row.text[1:])  # without its parenthesis it is no row
    return [Token("(", row.line, False), *(t._replace(line=t.line + row.line - 1) for t in inner if t.text != END)]


class _Parser:
    """Reads tokens from the first to the last; each method reads what its name says."""

    def __init__(self, tokens: list[Token], source: str) -> None:
        self._tokens, self._source, self._next = tokens, source, 0
        self._found = Record({}, {}, {})

    def file(self) -> Record:
        blocks = {"network": self._network, "variable": self._variable, "probability": self._probability}
        while self._peek().text != END:
            token = self._take()
            if token.text not in blocks:
                self._fail(token, "'network', 'variable' or 'probability'")
            blocks[token.text]()
        if not self._found.states:
            self._fail(self._peek(), "a variable; is it a BIF file?")
        lacking = [name for name in self._found.states if name not in self._found.tables]
        if lacking:
            self._fail(self._peek(), f"probabilities for {', '.join(map(repr, lacking))}")
        return self._found

    def _network(self) -> None:
        if self._peek().is_word:
            self._take()
        self._expect("{")
        self._properties()

    def _properties(self) -> None:
        """Properties up to the end of a block; nothing is read from them."""
        while self._peek().text != "}":
            self._property()
        self._expect("}")

    def _property(self) -> None:
        self._expect("property")
        while self._take_until_end().text != ";":
            pass

    def _variable(self) -> None:
        token = self._word("the name of a variable")
        if token.text in self._found.states:
            self._fail(token, "a variable that is not declared yet")
        self._expect("{")
        while self._peek().text == "property":
            self._property()
        for text in ("type", "discrete", "["):
            self._expect(text)
        count = self._word("the number of states")
        if not (count.text.isdecimal() and len(count.text) < 10 and int(count.text)):  # int() refuses long texts
            self._fail(count, "the number of states")
        self._expect("]")
        self._expect("{")
        states = self._list("}", "a state")
        if len(states) != int(count.text):
            self._fail(states[-1] if states else count, f"{count.text} states", f"{len(states)}")
        repeated = [state for i, state in enumerate(states) if state.text in {s.text for s in states[:i]}]
        if repeated:
            self._fail(repeated[0], f"a state that {token.text!r} does not have yet")
        self._expect(";")
        self._properties()
        self._found.states[token.text] = tuple(state.text for state in states)

    def _probability(self) -> None:
        self._expect("(")
        child = self._declared()
        if child.text in self._found.tables:
            self._fail(child, "a variable that has no probabilities yet")
        parents: list[Token] = []
        if self._peek().text == "|":
            self._take()
            parents = self._list(")", "a parent")
        else:
            self._expect(")")
        family = [child.text]
        for parent in parents:
            if parent.text not in self._found.states:
                self._fail(parent, "a declared variable")
            if parent.text in family or self._descends(parent.text, child.text):
                self._fail(parent, f"a parent of {child.text!r} that closes no cycle and is not named twice")
            family.append(parent.text)
        names = tuple(family[1:])
        self._found.parents[child.text] = names
        self._found.tables[child.text] = self._table((*names, child.text))

    def _descends(self, name: str, ancestor: str) -> bool:
        """Whether a variable has this ancestor, as far as the file was read."""
        waiting, seen = [name], {name}
        while waiting:
            new = set(self._found.parents.get(waiting.pop(), ())) - seen
            if ancestor in new:
                return True
            seen |= new
            waiting += new
        return False

    def _table(self, family: tuple[str, ...]) -> NDArray[np.float64]:
        states = [self._found.states[name] for name in family]
        shape = tuple(map(len, states))
        if math.prod(shape) > MAX_TABLE_CELLS:
            self._fail(self._peek(), f"a table of at most {MAX_TABLE_CELLS:,} cells", f"{math.prod(shape):,}")
        table = np.full(shape, np.nan)
        places = [{state: i for i, state in enumerate(known)} for known in states[:-1]]
        self._expect("{")
        while self._tokens[self._next].text != "}":
            if self._tokens[self._next].is_row and self._row(table, places):
                continue
            token = self._take()
            if token.text == "property":
                self._next -= 1
                self._property()
            elif token.text == "table":  # without states in front: the child's states vary slowest
                numbers = self._numbers(math.prod(shape))
                table[...] = self._summed(np.moveaxis(numbers.reshape(shape[-1:] + shape[:-1]), 0, -1), token)
            elif token.text == "default":
                table[np.isnan(table).any(axis=-1)] = self._summed(self._numbers(shape[-1]), token)
            elif token.text == "(" and len(family) > 1:
                cell = self._configuration(states[:-1])
                table[cell] = self._summed(self._numbers(shape[-1]), token)
            else:
                self._fail(token, "'table', 'default' or the states of the parents in parentheses")
        self._check_complete(table, states)
        self._expect("}")
        return self._summed(table, self._peek())

    def _row(self, table: NDArray[np.float64], places: Sequence[Mapping[str, int]]) -> bool:
        """Read a row in one step if all is right with it; otherwise token by token, which finds out what is wrong."""
        labels, numbers = self._tokens[self._next].text[1:-1].split(")")
        try:
            cell = tuple([place[label.strip()] for place, label in zip(places, labels.split(","), strict=True)])
            row = [float(number) for number in numbers.split(",")]
        except (KeyError, ValueError):
            return False
        if len(row) != table.shape[-1] or min(row) < 0 or max(row) > 1 or abs(sum(row) - 1) > CLOSE or not cell:
            return False
        table[cell] = row
        self._next += 1
        return True

    def _configuration(self, states: Sequence[Sequence[str]]) -> tuple[int, ...]:
        """The states of the parents before a row of probabilities, as codes."""
        found = self._list(")", "a state")
        if len(found) != len(states):
            self._fail(found[-1] if found else self._peek(), f"{len(states)} states of the parents", f"{len(found)}")
        for token, known in zip(found, states, strict=True):
            if token.text not in known:
                self._fail(token, f"one of the states {', '.join(known)}")
        return tuple(known.index(token.text) for token, known in zip(found, states, strict=True))

    def _numbers(self, count: int) -> NDArray[np.float64]:
        """Probabilities up to a semicolon."""
        tokens = self._list(";", "a probability")
        numbers = [self._probability_of(token) for token in tokens]
        if len(numbers) != count:
            self._fail(tokens[-1] if tokens else self._peek(), f"{count} probabilities", f"{len(numbers)}")
        return np.array(numbers)

    def _probability_of(self, token: Token) -> float:
        try:
            number = float(token.text)
        except ValueError:
            self._fail(token, "a probability")
        if not 0 <= number <= 1:
            self._fail(token, "a probability from 0 to 1")
        return number

    def _summed(self, table: NDArray[np.float64], token: Token) -> NDArray[np.float64]:
        """Rows that sum to 1, but for digits that were left out in the file; those sum to 1 now."""
        sums = table.sum(axis=-1, keepdims=True)
        wrong = sums[~np.isclose(sums, 1.0)]
        if wrong.size:
            self._fail(token, "probabilities that sum to 1", f"{wrong.flat[0]:.6g}")
        return np.where(np.abs(sums - 1.0) > ROUNDING, table / sums, table)  # others stay as they are, bit for bit

    def _check_complete(self, table: NDArray[np.float64], states: Sequence[Sequence[str]]) -> None:
        absent = np.argwhere(np.isnan(table).any(axis=-1))
        if len(absent):
            labels = [known[code] for known, code in zip(states, absent[0], strict=False)]
            row = f"a row for ({', '.join(labels)})" if labels else "'table' with the probabilities"
            self._fail(self._peek(), row)

    def _declared(self) -> Token:
        token = self._word("the name of a variable")
        if token.text not in self._found.states:
            self._fail(token, "a declared variable")
        return token

    def _list(self, end: str, item: str) -> list[Token]:
        """Words separated by commas or blanks, up to a mark."""
        found = []
        while self._peek().text != end:
            found.append(self._word(item))
            if self._peek().text == ",":
                self._take()
        self._expect(end)
        return found

    def _word(self, meaning: str) -> Token:
        token = self._take()
        if not token.is_word:
            self._fail(token, meaning)
        return token

    def _expect(self, text: str) -> None:
        token = self._take()
        if token.text != text:
            self._fail(token, repr(text))

    def _take_until_end(self) -> Token:
        if self._peek().text == END:
            self._fail(self._peek(), "';'")
        return self._take()

    def _peek(self) -> Token:
        if self._tokens[self._next].is_row:
            self._tokens[self._next : self._next + 1] = _taken_apart(self._tokens[self._next])
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._peek()
        self._next = min(self._next + 1, len(self._tokens) - 1)  # the end stays
        return token

    def _fail(self, token: Token, expected: str, found: str | None = None) -> NoReturn:
        shown = found or (END if token.text == END and not token.is_word else reprlib.repr(token.text))
        raise ValueError(f"{self._source}, line {token.line}: expected {expected}, found {shown}")
