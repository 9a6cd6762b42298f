"""Configuration of the documentation; `python docs/build.py` builds it."""

from __future__ import annotations

import sys
from pathlib import Path

import jaxbn

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "jaxbn"
author = "the jaxbn contributors"
copyright = "the jaxbn contributors, MIT licence"
version = release = jaxbn.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "mathml"]
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"jaxbn {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # `build.py` has run the notebooks
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_maximum_signature_line_length = 100
