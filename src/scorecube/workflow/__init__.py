"""What programs call: reading, evaluation and analyses (`api`), tasks of a study (`tasks`), and sweeps.

A sweep runs many analyses of many collections concurrently. `sweep_file` reads the TOML file, `sweep_sources` adds its collections
to the study, `sweep_plan` makes the list of tasks, and `sweep_run` runs them.
"""
