"""Flags of arguments, for messages of the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scorecube.errors import default_flag

FLAGS = {
    "address": "--scheduler",
    "base": "--from",
    "collections": "--collection",
    "dialect": "--qrels-format",
    "folder": "--out",
    "level_map": "--levels",
    "profile": "--cluster",
    "samples": "--replay",
}
"""Argument in Python -> flag, where functions and commands call one thing by different names."""


def flags_of(command: Any) -> Callable[[str], str]:
    """Return a function that returns the flag of an argument, as a command has it.

    Parameters
    ----------
    command
        Command of the parser; None for the flags that are alike in all commands.
    """
    known = {each.name: each.opts[0] for each in getattr(command, "params", ()) if each.opts[0].startswith("--")}

    def flag_of(name: str) -> str:
        return known.get(name) or FLAGS.get(name) or default_flag(name)

    return flag_of
