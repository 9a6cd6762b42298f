"""A headless Chromium: a page as it is after its scripts have run, and what its console says."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from html import unescape
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NODE = shutil.which("node")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --enable-logging=stderr"
)
COLLECT = """<!DOCTYPE html><body style="margin:0">{frames}<script>
const said = {{}};
onmessage = message => {{
  const {{name, value}} = JSON.parse(message.data);
  said[name] = value;
  document.body.dataset.said = JSON.stringify(said);
}};
</script></body>"""


def browse(folder: Path, name: str, width: int = 1280, *, milliseconds: int = 2000) -> tuple[str, list[str]]:
    """The document after loading, and what the browser's console says."""
    command = [str(CHROMIUM), *FLAGS.split(), f"--user-data-dir={folder / 'profile'}", f"--window-size={width},1500"]
    command += [f"--virtual-time-budget={milliseconds}", "--dump-dom", (folder / name).as_uri()]
    printed, said = what_it_prints(command)
    assert printed.endswith("</html>"), said
    return printed, [line for line in said.splitlines() if "CONSOLE" in line]


def what_it_prints(command: list[str], *, seconds: float = 300, patience: float = 5) -> tuple[str, str]:
    """What a browser prints and says, which now and then prints the whole document and does not end after that."""
    until = time.monotonic() + seconds
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as browser:
        while True:
            try:
                printed, said = browser.communicate(timeout=patience)
                return printed.decode("utf-8", "replace").rstrip(), said.decode("utf-8", "replace")
            except subprocess.TimeoutExpired as still_there:
                if (still_there.stdout or b"").rstrip().endswith(b"</html>") or time.monotonic() > until:
                    os.killpg(browser.pid, signal.SIGKILL)  # its helpers hold the pipes as well


def run_in_pages(folder: Path, pages: dict[str, tuple[str, str]], *, width: int = 1280) -> dict[str, Any]:
    """What scripts say that run inside pages, each in a frame of its own: a window cannot be as narrow as a phone.

    Args:
        folder: for the files.
        pages: by name a page, and the body of an async function whose value, as JSON, is what it says.
        width: of the frames.
    """
    frames = ""
    for name, (page, body) in pages.items():
        report = f"value => parent.postMessage(JSON.stringify({{name: {json.dumps(name)}, value}}), '*')"
        script = f"<script>(async () => {{{body}}})().catch(e => 'error: ' + e.stack).then({report})</script>"
        changed = re.sub(r"<meta http-equiv[^>]*>", "", page)  # which forbids other scripts than the page's own
        (folder / f"{name}.html").write_text(changed.replace("</body>", f"{script}</body>"), encoding="utf-8")
        frames += f'<iframe src="{name}.html" width="{width}" height="1500" style="border:0"></iframe>'
    (folder / "all frames.html").write_text(COLLECT.format(frames=frames), encoding="utf-8")
    document, _ = browse(folder, "all frames.html", 1300, milliseconds=60_000)
    found = re.search(r'data-said="([^"]*)"', document)
    assert found, document[:500]
    return dict(json.loads(unescape(found[1])))
