"""What programs call: reading and analyses (`api`), tasks of a study (`tasks`), and sweeps.

A sweep runs many analyses of many collections: `sweep_file` reads the file, `sweep` runs its tasks,
and `sweep_tasks` reads and computes one of them.
"""
