"""The command in a folder of its own, and a model in that folder."""

from __future__ import annotations

from pathlib import Path

import pytest

import jaxbn
from tests.helpers.command import Command, frame


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def command(tmp_path: Path, cache: Path) -> Command:
    return Command(tmp_path, cache)


@pytest.fixture
def model(command: Command) -> str:
    net = jaxbn.fit(frame(), {"size": ["kind"]}, {"size": [1.5], "age": [0.5]})
    net.save(command.folder / "model.json")
    return "model.json"
