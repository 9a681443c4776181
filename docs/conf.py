"""Sphinx settings: ``make docs`` writes docs/_build/html, without network.

Pages in `_generated` are made from the declarations, and from the items of the papers.
"""

from __future__ import annotations

import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO))

from scorecube import __version__  # noqa: E402
from tests.notebooks import copy_notebooks  # noqa: E402
from tests.papers import page as papers_page  # noqa: E402
from tests.reference_pages import write_pages  # noqa: E402

GENERATED = Path(__file__).parent / "_generated"
write_pages(GENERATED, {"papers.md": "\n".join(papers_page())})
copy_notebooks(GENERATED / "notebooks")

project, author, release = "scorecube", "the developers of scorecube", __version__
copyright = author  # noqa: A001
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
]
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
nb_execution_mode = "off"  # notebooks hold their outputs
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_typehints = "none"  # they stand in the signature
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
autosummary_generate = False
html_theme = "sphinx_book_theme"
html_title = f"scorecube {release}"
html_static_path = ["_static"]
html_css_files = ["scorecube.css"]
html_logo = "_static/logo.svg"
html_theme_options = {
    "show_toc_level": 2,
    "use_download_button": False,
    "show_navbar_depth": 1,
    "use_fullscreen_button": False,
    "navbar_persistent": [],  # one search box is enough
}
smartquotes_action = "qe"  # quotes and ellipses; -- begins an option
html_show_sourcelink = False
html_copy_source = False
