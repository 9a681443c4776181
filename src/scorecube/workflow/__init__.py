"""What programs call: reading, evaluation and analyses (`api`), tasks of a study (`tasks`), and sweeps.

A sweep runs many analyses of many collections. `sweep_file` reads the TOML file, `sweep_sources` adds
its collections to the study, and `sweep` runs their tasks.
"""
