"""Entry of `python -m arborist.retrieval_audit`."""

import sys

from arborist.retrieval_audit.command import main

sys.exit(main())
