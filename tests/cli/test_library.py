"""Options made from the library: all of them, by their names, with what the docstrings say."""

from __future__ import annotations

from dataclasses import fields
from inspect import signature

import pytest
from typer.main import get_command

import jaxbn
from jaxbn.cli.app import app
from jaxbn.cli.errors import REPEATED
from jaxbn.cli.library import NOT_HERE, PARTS, WORDS, arguments, library_options

FUNCTIONS = ("learn", "discretize", "bootstrap", "cross_validate", "sample_posterior")
COMMANDS = {"cross_validate": "evaluate", "sample_posterior": "posterior"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_source_has_the_arguments_of_the_function(name: str) -> None:
    known = [n for n, each in signature(getattr(jaxbn, name)).parameters.items() if each.kind == each.KEYWORD_ONLY]
    assert [n for n in arguments(name) if n in known] == known


@pytest.mark.parametrize("name", [name for parts in PARTS.values() for name in parts])
def test_the_source_has_the_options_of_the_class(name: str) -> None:
    assert set(arguments(name)) == {field.name for field in fields(getattr(jaxbn, name))}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_option_is_on_the_command_line_with_help(name: str) -> None:
    command = get_command(app).commands[COMMANDS.get(name, name)]
    shown = {option: each for each in command.params for option in each.opts}
    for option, argument in library_options(name).items():
        flag = f"--{REPEATED.get(option, option).replace('_', '-')}"
        assert flag in shown, option
        assert shown[flag].help, option
        assert argument.words, option


def test_words_of_the_command_line_are_about_options_that_there_are() -> None:
    known = {option for name in FUNCTIONS for option in library_options(name)}
    assert set(WORDS) <= known
    assert not set(NOT_HERE) & known
