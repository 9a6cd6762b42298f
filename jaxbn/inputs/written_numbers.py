"""Numbers as people write them in tables: 1,660 or $261.96, 23% or (1.234,50 €)."""

from __future__ import annotations

import re

import numpy as np

from jaxbn.inputs.later import pd

SAMPLE = 50  # different texts that are looked at before all of a column are read as numbers
FEW_WORDS = 2  # at most this many different texts of a column may be words beside its numbers
THOUSANDS = {".": ",", ",": "."}  # the mark between thousands beside each decimal mark


def written_numbers(column: pd.Series, decimal: str = ".") -> pd.Series:
    """The numbers in a column of text, NaN where an entry is a word; all NaN where it has more than a few words.

    Signs of a currency and of percent are left out if all numbers have the same one: 23% is 23.

    Example:
        >>> import pandas as pd
        >>> written_numbers(pd.Series(["1,660", "(721)", None, "-2,186.5"])).tolist()
        [1660.0, -721.0, nan, -2186.5]
        >>> written_numbers(pd.Series(["12 %", "7,5 %", "-"]), decimal=",").tolist()
        [12.0, 7.5, nan]
        >>> written_numbers(pd.Series(["12%", "$7"])).tolist()
        [nan, nan]
    """
    between = rf"[{THOUSANDS.get(decimal, '')}'’\u00a0\u202f]"
    form = _form(re.escape(decimal), between)
    codes, uniques = pd.factorize(column)
    numbers, signs, n_words = np.full(len(uniques) + 1, np.nan), set(), 0  # a missing entry, of code -1, is the last
    for i, text in enumerate(uniques):
        found = form.fullmatch(text) if isinstance(text, str) else None
        if found is not None:
            value = float(re.sub(between, "", found["number"]).replace(decimal, "."))
            numbers[i] = -value if found["minus"] or found["open"] else value
            signs.add(found["before"] or found["after"] or "")
        n_words += found is None
        if (n_words > FEW_WORDS and i < SAMPLE) or len(signs) > 1:
            return pd.Series(np.nan, column.index)
    return pd.Series(numbers[codes], column.index)


def _form(mark: str, between: str) -> re.Pattern[str]:
    grouped = rf"[1-9]\d{{0,2}}(?:{between}\d{{3}})+(?:{mark}\d+)?"
    number = rf"(?P<number>{grouped}|(?:\d+(?:{mark}\d*)?|{mark}\d+)(?:[eE][-+]?\d+)?)"
    head = r"\s*(?P<open>\()?\s*(?:\+|(?P<minus>[-−]))?\s*(?P<before>[$€£¥₹])?\s*"
    return re.compile(rf"{head}{number}\s*(?P<after>[$€£¥₹%])?\s*(?(open)\))\s*")
