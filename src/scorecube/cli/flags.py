"""Flags of arguments, for error messages on the command line."""

from collections.abc import Callable
from typing import Any

from scorecube.errors import default_flag

FLAGS = {
    "base": "--from",
    "collections": "--collection",
    "dialect": "--qrels-format",
    "folder": "--out",
    "level_map": "--levels",
}
"""Argument -> flag, for arguments of functions that commands name differently."""


def flags_of(command: Any) -> Callable[[str], str]:
    """Return a function from the name of an argument to the flag of a command.

    command: Command of the parser; None for flags that do not depend on the command.
    Returns flag_of: For `scorecube.errors.ScorecubeError.message`.
    """
    parameters = getattr(command, "params", ())
    known = {
        parameter.name: parameter.opts[0]
        for parameter in parameters
        if parameter.opts[0].startswith("--")
    }

    def flag_of(name: str) -> str:
        return known.get(name) or FLAGS.get(name) or default_flag(name)

    return flag_of
