"""What is promised: the page on stability lists every public signature as it is."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import jaxbn

ROOT = Path(__file__).parents[1]


def signatures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("signatures", ROOT / "docs" / "signatures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_lists_every_public_signature() -> None:
    listed = signatures()
    page = listed.PAGE.read_text(encoding="utf-8")
    assert listed.page(page) == page, "run python docs/signatures.py"


def test_the_citation_names_this_version() -> None:
    assert f"\nversion: {jaxbn.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
