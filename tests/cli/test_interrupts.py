"""Ctrl-C at the command line: a result or a message, and the exit code that the documentation says."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from jaxbn.cli import main
from tests.helpers.command import Command, RealCommand, as_csv, frame

PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started it deaf to Ctrl-C
from jaxbn.cli import main
print("started", file=sys.stderr, flush=True)
sys.argv = ["jaxbn", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize("after", [0.1, 0.3, 1.0, 2.5])
def test_an_interrupt_at_any_time_ends_with_a_word_and_its_code(real_command: RealCommand, after: float) -> None:
    real_command.has("table.csv", as_csv(frame()))
    arguments = ["learn", "table.csv", "--restarts", "20000", "--folds", "0", "--no-files", "-o", "model.json"]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=real_command.folder,
        env=real_command.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    process.stderr.readline()
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=240)
    assert process.returncode in (3, 130), said
    assert "interrupted" in said
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    assert (real_command.folder / "model.json").exists() == (process.returncode == 3)


def test_an_interrupt_after_a_file_is_written_says_so(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    data = command.has("table.csv", as_csv(frame()))
    monkeypatch.setattr("jaxbn.report", interrupted)
    done = command("learn", data, "--restarts", "1", "--folds", "0")
    assert done.returncode == 3
    assert "interrupted after writing table.jaxbn.json" in done.stderr


def test_an_interrupt_before_the_command_begins_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between two imports, say: one of 22 ended with a traceback and the signal's own code."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("jaxbn.cli.app.run_command", interrupted)
    monkeypatch.setattr("atexit.register", lambda *_: None)  # which would leave this process deaf to Ctrl-C
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "jaxbn: interrupted; there is no result\n"


def test_a_platform_that_is_not_there_is_one_line(real_command: RealCommand) -> None:
    data = real_command.has("table.csv", as_csv(frame()))
    real_command.fails(
        "learn",
        data,
        "--no-files",
        says="JAX cannot use the devices that JAX_PLATFORMS='cuda' asks",
        JAX_PLATFORMS="cuda",
    )


def test_sampling_keeps_to_the_memory_limit(command: Command, model: str) -> None:
    command.fails(
        "sample", model, "-n", "1000000", says="drawing 1,000,000 rows takes about", JAXBN_MAX_MEMORY="1000000"
    )
