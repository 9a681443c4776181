"""``python -m scorecube``."""

from scorecube.cli.program import main

if __name__ == "__main__":  # worker processes of a sweep import this module
    main()
