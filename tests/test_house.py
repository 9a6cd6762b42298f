"""Order in the tree: every subpackage is in the architecture page, and no test needs another."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import jaxbn

PACKAGE = Path(jaxbn.__file__).parent
TESTS = Path(__file__).parent
DOCS = TESTS.parent / "docs"
MODULES = list(PACKAGE.rglob("*.py"))


def test_every_subpackage_is_in_the_table_and_in_the_picture_of_the_architecture():
    packages = {path.parent.name for path in MODULES if path.parent.parent == PACKAGE}
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    table = "\n".join(line for line in page.split("## The rule of imports")[0].splitlines() if line.startswith("|"))
    assert {name for name in packages if f"`{name}`" not in table} == set()
    names = re.findall(r'class="n"[^>]*>([^<]+)<', (DOCS / "pictures" / "rooms.svg").read_text(encoding="utf-8"))
    assert packages - set(", ".join(names).split(", ")) == set()


def test_the_tests_are_a_package():
    """Some projects install theirs as `tests`: without a package here, `python -m tests.helpers...` runs theirs."""
    assert (TESTS / "__init__.py").is_file()


def test_no_test_imports_another():
    found = {}
    for path in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
            if any(part.startswith("test_") or part == "conftest" for name in names for part in name.split(".")):
                found[path.name] = names
    assert found == {}


def test_the_reference_imports_nothing_of_the_package():
    for path in (TESTS / "reference").glob("*.py"):
        if not path.name.startswith("test_"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom):
                    assert not (node.module or "").startswith(("jaxbn", "tests.helpers")), path.name
                elif isinstance(node, ast.Import):
                    assert not any(alias.name.startswith("jaxbn") for alias in node.names), path.name
