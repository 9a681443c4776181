"""Coverage-guided fuzzing of all readers: ``python -m tests.fuzz --help``."""
