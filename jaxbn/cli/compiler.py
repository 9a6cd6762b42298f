"""JAX prepared before anything is compiled."""

from __future__ import annotations

import os

from jaxbn.cli.errors import CommandError


def start_compiler(no_cache: bool) -> None:
    """Prepare JAX; call this before anything is computed.

    Args:
        no_cache: whether compiled kernels are not to be kept between runs.
    """
    if not no_cache:
        from jaxbn.runtime.compilation_cache import enable_compilation_cache

        enable_compilation_cache()
    import jax

    try:
        jax.devices()
    except (RuntimeError, AssertionError):  # asked for a platform that is not there
        asked = os.environ.get("JAX_PLATFORMS", "")
        raise CommandError(
            f"JAX cannot use the devices that JAX_PLATFORMS={asked!r} asks for; unset it, or install JAX for them"
        ) from None
