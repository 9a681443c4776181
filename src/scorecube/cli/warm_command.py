"""Command warm: compile all kernels."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from scorecube.cli.terminal import notify, track_progress


def warm(
    workers: Annotated[
        Optional[int],
        typer.Option(
            "--workers", min=1, help="Processes that compile; as many as cores by default."
        ),
    ] = None,
) -> None:
    """Compile all kernels for this processor, so that no later command waits for the compiler.

    Example: scorecube warm
    """
    import time

    from scorecube.execute.kernel_state import are_all_compiled, mark_all

    if are_all_compiled():
        notify("all kernels were compiled before")
        return
    from scorecube.cli.kernel_parts import compile_all
    from scorecube.execute.estimate import default_workers

    start = time.monotonic()
    with track_progress("compiling kernels", "parts") as progress:
        compile_all(workers or default_workers(), progress)
    mark_all()
    notify(f"all kernels are compiled ({time.monotonic() - start:.0f} s)")


COMMANDS = (warm,)
