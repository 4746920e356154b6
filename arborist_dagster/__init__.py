"""The code location: definitions, jobs, schedules, sensors, and the command that drives them in process."""

import warnings

from dagster import BetaWarning, PreviewWarning

# Partitioned backfills and observed assets are marked beta in the pinned version; that is known and tested.
warnings.filterwarnings("ignore", category=BetaWarning)
warnings.filterwarnings("ignore", category=PreviewWarning)
