"""Errors in one line on standard error: what is wrong and how to fix it, in the words of the command line."""

from __future__ import annotations

import logging
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from jaxbn.runtime import limits

if TYPE_CHECKING:
    from jaxbn.inputs.checks import Mention

LOG = logging.getLogger("jaxbn")
DEBUG = "JAXBN_DEBUG"  # environment variable that shows the traceback of every error
FAILED, USAGE, KEPT, INTERRUPTED = 1, 2, 3, 130  # exit codes; the last two after Ctrl-C, with and without a result
_kept = False  # whether there was a result when Ctrl-C came
REMEDIES = {
    "drop": "leave it out with --drop",
    "drop columns": "leave these columns out with --drop",
    "convert": "correct it in the file",
    "convert dates": "turn it into numbers in the file, for example days since the first",
    "encoding": "--encoding cp1252 or --encoding latin-1",
    "no_group": "--no-group",
    "other delimiter": ", or choose another --delimiter",
    "unknown": "",
    "utf-16": "pass --encoding utf-16",
}
"""Remedies at the command line, in place of those for Python users."""

REPEATED = {
    "merge_levels": "group", "tiers": "tier", "roots": "root", "leaves": "leaf", "links": "known", "as_json": "json",
}  # fmt: skip
"""Arguments whose options have other names, most because they can be given several times."""


class CommandError(Exception):
    """Something the user can fix; the message says how."""

    code = FAILED


class UsageError(CommandError):
    """An option or argument that cannot be used as it is."""

    code = USAGE


def run(call: Callable[[], Any], options: Collection[str]) -> None:
    """Call, and turn every exception into one line and an exit code; `options` are the arguments that are options."""
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", limits.InterruptedWarning)
    sys.unraisablehook = _unraisable
    LOG.handlers = [_ToStandardError(options)]
    keep(False)
    try:
        call()
    except SystemExit as end:
        if end.code == INTERRUPTED:  # typer has caught it
            _interrupted()
        sys.exit(KEPT if _kept and not end.code else end.code)
    except CommandError as error:
        stop(str(error), error.code, error)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # `jaxbn sample … | head` has not failed
        sys.exit(FAILED)
    except KeyboardInterrupt:
        _interrupted()
    except MemoryError as error:
        stop(str(error) or "not enough memory; use fewer rows or columns", FAILED, error)
    except OSError as error:
        stop(str(error) if error.filename is None else f"{error.filename!r}: {error.strerror or error}", FAILED, error)
    except (ValueError, TypeError, ImportError) as error:
        stop(*in_options(error, options), error)
    except Exception as error:
        stop(f"unexpected {type(error).__name__}: {error}; set {DEBUG}=1 to see where", FAILED, error)


def keep(result: bool = True) -> None:
    """Note that Ctrl-C has ended a part of the work and that there is a result: the exit code says so."""
    global _kept
    _kept = result


def _interrupted() -> None:
    """Say what there is after Ctrl-C, and exit."""
    from jaxbn.cli.output import written

    tell("jaxbn: interrupted" + (f" after writing {', '.join(written)}" if written else "; there is no result"))
    code = KEPT if written else INTERRUPTED
    if limits.pressed_twice():  # a program may still run on a device, which would not end well
        sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


def _unraisable(event: Any) -> None:
    """A Ctrl-C that fell into a callback, where nothing can be raised, comes again."""
    if issubclass(event.exc_type, KeyboardInterrupt):
        limits.come_again()
    else:
        sys.__unraisablehook__(event)


def stop(message: str, code: int, error: BaseException) -> None:
    """Print the message and exit; raise the error instead if the traceback was asked for."""
    if os.environ.get(DEBUG):
        raise error
    tell(f"jaxbn: error: {' '.join(message.split())}")
    sys.exit(code)


def warn(message: str) -> None:
    """A line on standard error about something that is probably not meant."""
    tell(f"jaxbn: warning: {' '.join(message.split())}")


def tell(message: str) -> None:
    """A line on standard error."""
    print(message, file=sys.stderr, flush=True)


def in_options(error: Exception, options: Collection[str]) -> tuple[str, int]:
    """The message of an error with arguments spelled as options, and the exit code."""
    from jaxbn.inputs.checks import CheckError

    if not isinstance(error, CheckError):
        return str(error), FAILED
    return error.spelled(lambda mention: spell(mention, options)), USAGE if error.argument in options else FAILED


def spell(mention: Mention, options: Collection[str]) -> str:
    """What the command line has for an argument of the library."""
    if mention.words is not None and mention.argument in REMEDIES:
        return REMEDIES[mention.argument]
    if mention.argument not in options:
        return str(mention)
    option = flag_of(mention.argument)
    if mention.value is not None:
        option += f" {shlex.quote(mention.value)}"
    return f"pass {option}" if mention.words is not None else option


def flag_of(argument: str) -> str:
    """The option of an argument of the library."""
    return f"--{REPEATED.get(argument, argument).replace('_', '-')}"


class _ToStandardError(logging.Handler):
    """Shows what the library logs in the same way as warnings, with arguments spelled as options."""

    def __init__(self, options: Collection[str]) -> None:
        super().__init__(logging.WARNING)
        self.options = options
        self.told: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        from jaxbn.inputs.checks import Mention

        if isinstance(record.args, tuple):
            record.args = tuple(spell(a, self.options) if isinstance(a, Mention) else a for a in record.args)
        message = record.getMessage()
        if message not in self.told:  # a search and its folds may find the same
            warn(message)
        self.told.add(message)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, limits.InterruptedWarning):
        keep()
    warn(str(message))
