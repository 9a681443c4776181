"""A terminal of 80 columns for programs under test."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

WIDTH = 80


def program(*words: object, block_units: int | None = None) -> list[str]:
    """Return the command that runs scorecube with some words, perhaps in blocks of a stated length."""
    start = ["-c", "from scorecube.cli.program import main; main()"]
    if block_units is not None:
        start = ["-m", "tests.blocks", str(block_units)]
    return [sys.executable, *start, *map(str, words)]


def on_terminal(
    command: list[str], folder: Path | None = None, **environment: str
) -> tuple[int, str]:
    """Run a command whose output and errors are a terminal; return its status and what is seen."""
    master, slave = pty.openpty()
    settings = os.environ | {"TERM": "xterm-256color", "COLUMNS": str(WIDTH)} | environment
    process = subprocess.Popen(command, stdout=slave, stderr=slave, env=settings, cwd=folder)
    os.close(slave)
    seen = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(master)
    return process.wait(timeout=60), seen.decode().replace("\r\n", "\n")
