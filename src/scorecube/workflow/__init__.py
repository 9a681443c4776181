"""What programs call: reading and analyses (`api`), tasks of a study (`tasks`), and sweeps.

A sweep runs many analyses of many collections. `sweep_file` reads the file, `sweep_sources` adds
its collections to the study, `sweep_tasks` runs them, and `sweep` does so from Python.
"""
