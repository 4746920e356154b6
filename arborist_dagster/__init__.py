"""The code location: definitions, jobs, schedules, sensors, and the command that drives them in process."""

import warnings

# Partitioned backfills and observed assets are marked so in the pinned version; that is known and tested. Named by
# their text, since importing Dagster for its warning classes takes a second.
warnings.filterwarnings("ignore", message=r".* is currently in (beta|preview)")
