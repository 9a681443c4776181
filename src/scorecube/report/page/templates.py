"""The environment of the templates of pages: everything is escaped, and control characters of names are shown as escapes."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from scorecube.errors import visible


def page_file(name: str) -> str:
    """Return the text of a template, style sheet or script of a page."""
    return files("scorecube").joinpath("report/page").joinpath(name).read_text(encoding="utf-8")


def script_and_hash(script: str) -> dict[str, Any]:
    """Return a script of this package for a template, and the hash by which the page's policy allows it and no other."""
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {"script": Markup(script), "script_hash": hashed}  # noqa: S704 - a file of this package


def template(name: str = "page.html") -> Any:
    """Return a template of a page."""
    environment = Environment(
        loader=FunctionLoader(page_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Names may hold characters that turn the direction of the text behind them.
        finalize=lambda value: visible(value, keep="\n") if type(value) is str else value,
    )
    # Our own file: its quotes and signs are not escaped, because HTML decodes nothing in a style sheet.
    environment.globals["style"] = Markup(page_file("page.css"))  # noqa: S704
    return environment.get_template(name)
