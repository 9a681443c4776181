"""Flags of the command line whose names differ from those of the arguments in Python."""

from __future__ import annotations

from scorecube.errors import default_flag

FLAGS = {
    "address": "--scheduler",
    "alphas": "--alpha",
    "base": "--from",
    "block_units": "--block-size",
    "collections": "--collection",
    "dialect": "--qrels-format",
    "folder": "--out",
    "keep_unpooled": "--drop-unpooled",
    "level_map": "--levels",
    "profile": "--cluster",
    "samples": "--replay",
    "studentised": "--unstudentised",
    "thresholds": "--threshold",
    "topic_sizes": "--topics",
}
"""Argument in Python -> flag."""


def flag_of(name: str) -> str:
    """Return the flag of an argument.

    Examples
    --------
    >>> flag_of("drop_missing"), flag_of("alphas")
    ('--drop-missing', '--alpha')
    """
    return FLAGS.get(name) or default_flag(name)
