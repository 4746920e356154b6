"""Where the time of a build and of questions goes: `python -m bench.profile [--passages N] [--questions N]`.

Both are profiled function by function over a corpus of the machine's own texts; times are seconds under the
profiler, which makes Python functions look dearer than they are.
"""

import argparse
import cProfile
import pstats
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from arborist.answering.ask import open_asker
from arborist.corpus.shard import Shard
from arborist.corpus.work import chunk_shard, index_shard
from arborist.providence.ledger import Ledger
from arborist.retrieval.retrieve import Query
from bench.corpus import bench_questions, bench_texts, built_workspace

SHARD = "bench-000"
LINES = 25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=50)
    arguments = parser.parse_args()
    with TemporaryDirectory() as scratch:
        workspace = built_workspace(Path(scratch), bench_texts(arguments.passages))
        profile = cProfile.Profile()
        profile.runcall(chunk_shard, workspace.corpus, SHARD)
        profile.runcall(index_shard, workspace.corpus, SHARD)
        _print("build of one shard", profile)
        with Shard(workspace.home.shard_file(SHARD)) as shard:
            questions = bench_questions(shard, arguments.questions)
        profile = cProfile.Profile()
        with Ledger.open(workspace.home.root, workspace.clock) as ledger:
            asker = open_asker(workspace, ledger)
            for question in questions:
                profile.runcall(asker.ask, Query(question))
        _print(f"{len(questions)} questions", profile)


def _print(title: str, profile: cProfile.Profile) -> None:
    sys.stdout.write(f"\n## {title}\n")
    pstats.Stats(profile, stream=sys.stdout).strip_dirs().sort_stats("cumulative").print_stats(LINES)


if __name__ == "__main__":
    main()
