"""What goes wrong, said in one line on standard error: the culprit and the remedy, in the command line's own words."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

DEBUG = "JAXBN_DEBUG"
"""Environment variable that shows the traceback of every error."""

FAILED, USAGE, INTERRUPTED = 1, 2, 130

# The library's messages name Python arguments; people at the command line need the options.
_OPTIONS = (
    (r"pass missing='drop'", "pass --missing drop"),
    (r"missing='drop'", "--missing drop"),
    (r"\(unknown='missing' treats them as missing where rows of data are passed\)", ""),
    (r"name it in `continuous`", "name it with --continuous"),
    (r"leave it out of `continuous`", "leave it out of --continuous"),
    (r" or convert it with pandas\.to_numeric", ""),
    (r"(?<=[;,] )drop it\b", "leave it out with --drop"),
    (r"drop the columns?\b(?! with)", "leave it out with --drop"),
    (r"drop these columns", "leave them out with --drop"),
    (r"^(continuous|required|forbidden) names", None),
    (r"^the graph (?=names|has)", "--graph "),
    (r"^order (?=names|leaves|has)", "--order "),
    (r"\bmax_parents, which", "--max-parents, which"),
    (
        r"^(rate|method|select|missing|restarts|max_parents|max_passes|initial_bins|min_width|folds|bins|n) must be",
        None,
    ),
    (r"^min_width belongs to method='evidence', got (.+) with method='(\w+)'", r"--min-width is for --method evidence"),
    (r", for example with \.astype\(str\)", ""),
)


class CommandError(Exception):
    """Something the user can mend; the message says how."""

    code = FAILED


class UsageError(CommandError):
    """An option or argument that cannot be meant."""

    code = USAGE


def run(call: Callable[[], Any]) -> None:
    """Call, and turn every exception into one line and an exit code."""
    warnings.showwarning = _show_warning
    try:
        call()
    except CommandError as error:
        stop(str(error), error.code, error)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # `jaxbn sample … | head` is no failure
        sys.exit(FAILED)
    except KeyboardInterrupt as error:
        stop("interrupted; nothing was written", INTERRUPTED, error)
    except MemoryError as error:
        stop(str(error) or "not enough memory; use fewer rows or columns", FAILED, error)
    except OSError as error:
        stop(_system_error(error), FAILED, error)
    except (ValueError, TypeError, ImportError) as error:
        message = in_options(str(error))
        stop(message, USAGE if message.startswith("--") else FAILED, error)
    except Exception as error:
        stop(f"unexpected {type(error).__name__}: {error}; set {DEBUG}=1 to see where", FAILED, error)


def stop(message: str, code: int, error: BaseException) -> None:
    """Say what is wrong and end; with the traceback where it was asked for."""
    if os.environ.get(DEBUG):
        raise error
    print(f"jaxbn: error: {_one_line(message)}", file=sys.stderr)
    sys.exit(code)


def tell(message: str) -> None:
    """A line on standard error that is neither result nor warning."""
    print(message, file=sys.stderr, flush=True)


def in_options(message: str) -> str:
    """A message of the library with the names of Python arguments turned into options.

    Example:
        >>> in_options("rate must be a number, got 'x'; pass missing='drop' to drop the rows")
        "--rate must be a number, got 'x'; pass --missing drop to drop the rows"
    """
    for pattern, replacement in _OPTIONS:
        if replacement is None:
            message = re.sub(pattern, lambda found: "--" + found.group(0).replace("_", "-"), message)
        else:
            message = re.sub(pattern, replacement, message)
    return message.strip()


def _system_error(error: OSError) -> str:
    if error.filename is None:
        return str(error)
    return f"{error.filename!r}: {error.strerror or error}"


def _one_line(message: str) -> str:
    return " ".join(message.split())


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    print(f"jaxbn: warning: {_one_line(in_options(str(message)))}", file=sys.stderr)
