"""Command warm: compile all kernels."""

from typing import Annotated, Optional

from scorecube.cli.options import flag
from scorecube.cli.terminal import notify, track_progress


def warm(
    workers: Annotated[
        Optional[int],
        flag("--workers", "Processes that compile; as many as cores by default.", min=1),
    ] = None,
) -> None:
    """Compile all kernels for this processor, so that no later command waits for the compiler.

    Example: scorecube warm
    """
    import time

    from scorecube.cli.compilation import compile_all
    from scorecube.execute.executor import default_workers

    start = time.monotonic()
    with track_progress("compiling kernels", "parts") as progress:
        compiled = compile_all(workers or default_workers(), progress)
    seconds = f"all kernels are compiled ({time.monotonic() - start:.0f} s)"
    notify(seconds if compiled else "all kernels were compiled before")
