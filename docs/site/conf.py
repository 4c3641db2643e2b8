# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sphinx configuration of the documentation site (tools/scripts/site.py)."""

project = "Ashlar"
author = "The Ashlar authors"
project_copyright = "The Ashlar authors, Apache-2.0 WITH LLVM-exception"

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["site"]

# Section links such as Machine.md#prices use the anchors that forges make.
myst_heading_anchors = 4
# Pages of the repository start sections at the level that suits them there, and
# the tables of generated dialect pages are HTML with code in it.
suppress_warnings = ["myst.header", "misc.highlighting_failure"]

html_theme = "alabaster"
html_title = "Ashlar"
html_theme_options = {
    "description": "Ahead-of-time neural-network compiler and bit-exact emulator",
    "page_width": "1150px",
    "sidebar_width": "250px",
    "fixed_sidebar": True,
}
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_copy_source = False
