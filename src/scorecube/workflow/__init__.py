"""Sweeps: many analyses of many collections from one file, as one stream of work.

`file.py` reads the file, `collections.py` puts what it names into the study, `plans.py` makes the list of tasks, and `run.py` does them.
"""

from scorecube.workflow.sweep_file import Entry, SweepFile, read_sweep
from scorecube.workflow.sweep_plan import SweepPlan, plan_sweep
from scorecube.workflow.sweep_run import run_sweep, sweep
from scorecube.workflow.sweep_sources import bring_in

__all__ = ["Entry", "SweepFile", "SweepPlan", "bring_in", "plan_sweep", "read_sweep", "run_sweep", "sweep"]
