"""Compiled kernels kept on disk, so that the next run of the same kind starts at once."""

from __future__ import annotations

import os
import stat
import warnings
from pathlib import Path
from typing import Any

LEAST_SECONDS = 0.05  # a kernel that compiled in less is not kept: reading it back would save nothing


def enable_compilation_cache(directory: str | os.PathLike[str] | None = None) -> Path | None:
    """Keep compiled kernels on disk from now on, with JAX's persistent compilation cache.

    The command line does this by itself. Call it before anything is compiled. The kernels are machine code, which runs
    when it is read back: the directory must be yours, and nobody else may write to it.

    Args:
        directory: where; by default one of jaxbn's own in the user's cache directory, or what JAX was told already
            (``JAX_COMPILATION_CACHE_DIR``).

    Returns:
        The directory, or None with a warning where it cannot be written, or others can write to it.

    Example:
        >>> folder = jaxbn.enable_compilation_cache()  # doctest: +SKIP
    """
    import jax
    from platformdirs import user_cache_path

    settings: Any = jax.config
    told = settings.jax_compilation_cache_dir
    folder = Path(directory or told or user_cache_path("jaxbn") / "kernels")
    fault = _fault(folder)
    if fault:
        warnings.warn(f"compiled kernels are not kept: {fault}", stacklevel=2)
        return None
    settings.update("jax_compilation_cache_dir", str(folder))
    settings.update("jax_persistent_cache_min_compile_time_secs", LEAST_SECONDS)
    return folder


def _fault(folder: Path) -> str:
    """What is wrong with a directory for kernels, which is made if there is none; nothing if it can be used."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.stat()
    except OSError:
        return f"cannot write to {str(folder)!r}"
    if not os.access(folder, os.W_OK):
        return f"cannot write to {str(folder)!r}"
    if os.name == "posix" and (found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        return f"others can write to {str(folder)!r}; chmod 700 it if it is yours, or name another directory"
    return ""
