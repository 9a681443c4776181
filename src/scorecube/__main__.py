"""``python -m scorecube``."""

from scorecube.cli.program import main

main()
