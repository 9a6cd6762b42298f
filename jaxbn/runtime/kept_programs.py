"""Our own slow programs kept on disk, compiled, without a word to the rest of the user's JAX program.

JAX's persistent cache is one setting for everything that a process compiles, so a library must not turn it on by
itself. The one program of ours that takes seconds to compile is stored here instead, in the user's cache directory, and
read back in another process on the same machine. `JAXBN_NO_CACHE` turns this off; where JAX's own cache is on, it keeps
the program, and nothing is stored here.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jaxbn.runtime.files import write_bytes

OFF = "JAXBN_NO_CACHE"
"""Set to anything, no program is kept."""

MOST_FILES = 32
"""The oldest programs go when there are more; each has some two megabytes."""

_ready: dict[tuple[Any, str], Callable[..., Any]] = {}
"""Programs of this process, by their device, None for the usual one, and by what else they depend on."""


def run(program: Any, *arguments: Any, **static: Any) -> Any:
    """Call a jitted function by its stored program, which is made and stored if there is none.

    Args:
        program: the function.
        *arguments: its arrays.
        **static: its static arguments.
    """
    folder = store()
    if folder is None:
        return program(*arguments, **static)
    device, name = _device(), _name(program.__name__, arguments, static)
    if (device, name) not in _ready:
        file = folder / name
        _ready[device, name] = _loaded(file, device) or _stored(file, program.lower(*arguments, **static).compile())
    return _ready[device, name](*arguments)


def store() -> Path | None:
    """Where programs are kept; None where they are not, or JAX keeps them, or there are several devices."""
    import jax
    from platformdirs import user_cache_path

    settings: Any = jax.config
    if os.environ.get(OFF) or settings.jax_compilation_cache_dir or jax.device_count() > 1:
        return None
    return user_cache_path("jaxbn") / "programs"


def _device() -> Any:
    """The device that was chosen for what runs now, None for the usual one."""
    import jax

    settings: Any = jax.config
    return settings.jax_default_device


def _loaded(file: Path, device: Any) -> Callable[..., Any] | None:
    """The program in a file, for a device; None if there is none that this process can use."""
    from jax.experimental.serialize_executable import deserialize_and_load

    try:
        client = None if device is None else device.client
        program, in_tree, out_tree = pickle.loads(file.read_bytes())
        found: Callable[..., Any] = deserialize_and_load(program, in_tree, out_tree, backend=client)
    except Exception:  # whatever is wrong with it, it can be made again
        return None
    with suppress(OSError):
        file.touch()
    return found


def _stored(file: Path, compiled: Any) -> Callable[..., Any]:
    """The program itself, after an attempt to keep it."""
    from jax.experimental.serialize_executable import serialize

    with suppress(OSError, ValueError, TypeError):  # a full disk, a read-only home, a backend that cannot
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(file, pickle.dumps(serialize(compiled)))
        for old in sorted(file.parent.iterdir(), key=lambda each: each.stat().st_mtime)[:-MOST_FILES]:
            old.unlink(missing_ok=True)
    found: Callable[..., Any] = compiled
    return found


def _name(function: str, arguments: Any, static: dict[str, Any]) -> str:
    """A file name that stands for everything a program depends on."""
    import jax

    leaves, tree = jax.tree.flatten(arguments)
    kinds = [(leaf.shape, str(leaf.dtype)) for leaf in leaves]
    described = repr((function, tree, kinds, sorted(static.items()), _surroundings()))
    return f"{function}-{hashlib.blake2b(described.encode(), digest_size=16).hexdigest()}"


@cache
def _surroundings() -> tuple[str, ...]:
    """Versions, the device, flags of the compiler, the processor and our own sources."""
    import jax

    device = jax.devices()[0]
    sources = hashlib.blake2b()
    for file in sorted((Path(__file__).parents[1] / "kernels").rglob("*.py")):
        sources.update(file.read_bytes())
    flags = [os.environ.get(name, "") for name in ("XLA_FLAGS", "PJRT_NPROC")]
    versions = (jax.__version__, version("jaxlib"), device.client.platform_version, device.device_kind)
    return (*versions, *flags, _processor(), sources.hexdigest())


def _processor() -> str:
    """What instructions there are: a program compiled for another processor may not run on this one."""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return platform.machine() + "".join(sorted({line for line in lines if line.startswith(("flags", "Features"))}))
    return f"{platform.machine()} {platform.processor()} {platform.platform()}"
