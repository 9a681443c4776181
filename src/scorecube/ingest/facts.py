"""Former name of `scorecube.ingest.published`, for one release."""

from scorecube.ingest.published import *  # noqa: F403
