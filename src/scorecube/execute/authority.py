"""Alias of `scorecube.execute.certificates`, for one release."""

from scorecube.execute.certificates import *  # noqa: F403
from scorecube.execute.certificates import main

if __name__ == "__main__":
    main()
