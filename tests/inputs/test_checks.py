"""Errors that carry their argument, so that each interface can spell it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from jaxbn.inputs import checks
from jaxbn.inputs.checks import ArgumentError, ArgumentTypeError, CheckError, Mention


def test_an_error_is_a_value_error_with_its_argument_and_value() -> None:
    with pytest.raises(ValueError, match=r"^max_parents must be at least 0, got -1$") as caught:
        checks.at_least("max_parents", -1, 0)
    assert isinstance(caught.value, ArgumentError)
    assert (caught.value.argument, caught.value.value) == ("max_parents", -1)


def test_a_wrong_type_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"^rate must be a number, got 'x' of type str$") as caught:
        checks.positive("rate", "x")
    assert isinstance(caught.value, ArgumentTypeError)


@pytest.mark.parametrize("kind", [ArgumentError, ArgumentTypeError])
def test_errors_survive_another_process(kind: type[CheckError]) -> None:
    error = kind("data", "holds a hole; pass ", Mention("missing", "drop"), subject="column 'x'", value=3)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error) == "column 'x' holds a hole; pass missing='drop'"
    assert (again.argument, again.value) == ("data", 3)
    assert again.spelled(lambda mention: f"--{mention.argument} {mention.value}").endswith("pass --missing drop")


def test_values_with_braces_and_percent_signs_stay_as_they_are() -> None:
    assert str(ArgumentError("select", "must not be '{x} %s'")) == "select must not be '{x} %s'"


def test_a_suggestion_among_no_names() -> None:
    assert checks.suggest("x", []) == "there is none"


def test_one_of_lists_the_choices() -> None:
    with pytest.raises(ArgumentError, match="select must be one of 'density', 'k2', got 'bic'"):
        checks.one_of("select", "bic", ("density", "k2"))


def test_numbers_name_the_first_bad_row() -> None:
    with pytest.raises(ArgumentError, match=r"values must be finite, got nan in row 1 \(1 such rows\)"):
        checks.numbers("values", [1.0, np.nan])


def test_a_suggestion_shows_levels_as_they_are() -> None:
    assert checks.suggest("4", [4, 6]) == "did you mean 4?"
    assert checks.suggest("x", [4, "y"]) == "known: 4, 'y'"


def test_names_and_mappings_of_another_type_name_the_argument() -> None:
    with pytest.raises(ArgumentTypeError, match=r"^roots must be a list of names, got 3$"):
        checks.listed(3, "roots")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match=r"^cuts must be \{column: cuts\}, got \[1\]$"):
        checks.mapping("cuts", [1], "{column: cuts}")
    assert checks.mapping("cuts", None, "") == {}
