"""What programs call: reading, evaluation and analyses (`api`), tasks of a study (`tasks`), and sweeps.

A sweep runs many analyses of many collections concurrently. `sweep_file` reads the TOML file, `sweep_sources` adds its collections
to the study, `sweep_plan` makes the list of tasks, and `sweep_run` runs them.
"""

from scorecube.workflow.sweep_file import Entry, SweepFile, read_sweep
from scorecube.workflow.sweep_plan import SweepPlan, plan_sweep
from scorecube.workflow.sweep_run import run_sweep, sweep
from scorecube.workflow.sweep_sources import add_collections

__all__ = [
    "Entry",
    "SweepFile",
    "SweepPlan",
    "add_collections",
    "plan_sweep",
    "read_sweep",
    "run_sweep",
    "sweep",
]
