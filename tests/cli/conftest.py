"""The command in a folder of its own, and a model in that folder."""

from __future__ import annotations

from pathlib import Path

import pytest

import jaxbn
from tests.helpers.command import Command, RealCommand, frame


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.fixture
def real_command(tmp_path: Path) -> RealCommand:
    return RealCommand(tmp_path)


@pytest.fixture
def model(tmp_path: Path) -> str:
    net = jaxbn.fit(frame(), {"size": ["kind"]}, {"size": [1.5], "age": [0.5]})
    net.save(tmp_path / "model.json")
    return "model.json"
