"""What programs call: reading and analyses (`api`), tasks of a study (`tasks`), and sweeps."""
