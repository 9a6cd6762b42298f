"""The documentation names every public name, cites headings that exist, and its examples run."""

from __future__ import annotations

import re
from pathlib import Path

import jax
import pytest

import jaxbn

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if not {"_build", "commands.md"} & set(path.parts))
CODE = [path for folder in ("jaxbn", "tests", "benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))]
CITATION = re.compile(r'docs/(\w+)\.md,\s+"([^"]+)"((?:\s+and\s+"[^"]+")*)')


def headings(page: str) -> set[str]:
    """Of a page of the documentation."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    return {line.lstrip("#").strip() for line in text.splitlines() if line.startswith("#")}


def python_blocks(path: Path) -> str:
    """All examples of a page, as one program."""
    return "\n".join(re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE))


def test_every_public_name_is_in_the_reference() -> None:
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    named = set(re.findall(r":: jaxbn\.([\w.]+)", reference))
    assert set(jaxbn.__all__) <= named
    assert named - set(jaxbn.__all__) == {"sklearn"}


def test_code_cites_headings_that_exist() -> None:
    cited = {}
    for path in CODE:
        for page, first, more in CITATION.findall(path.read_text(encoding="utf-8")):
            for quoted in (first, *re.findall(r'"([^"]+)"', more)):
                heading = " ".join(quoted.split())  # it may go on in the next line
                cited[path.relative_to(ROOT).as_posix(), page, heading] = heading in headings(page)
    assert cited
    assert [place for place, found in cited.items() if not found] == []


def test_links_lead_somewhere() -> None:
    """Of the pages that the generator of the site does not see; it checks its own."""
    for name in ("README.md", "CONTRIBUTING.md"):
        links = re.findall(r"\]\(([^)#]+)", (ROOT / name).read_text(encoding="utf-8"))
        assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [path for path in (ROOT / "README.md", *PAGES) if python_blocks(path)],
    ids=lambda path: path.stem,
)
def test_examples_run(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if "jaxbn.sklearn" in python_blocks(path):
        pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept_in = jax.config.jax_compilation_cache_dir
    try:
        exec(compile(python_blocks(path), str(path), "exec"), {"__name__": "__main__"})
    finally:
        jax.config.update("jax_compilation_cache_dir", kept_in)


def test_there_are_thirty_tasks_with_a_solution_each() -> None:
    text = (ROOT / "docs" / "howto" / "tasks.md").read_text(encoding="utf-8")
    tasks = re.split(r"^\*\*(\d+)\. ", text, flags=re.MULTILINE)[1:]
    assert [int(number) for number in tasks[::2]] == list(range(1, 31))
    assert all("```python" in task for task in tasks[1::2])
