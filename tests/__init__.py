"""Tests; a package, so that one of this name that another project has installed is not taken for it."""
