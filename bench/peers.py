"""The project's search beside tantivy and bm25s, at a size where it matters: `make bench-peers`.

python -m bench.peers [the options of bench.search]
"""

import sys

from bench import search


def main() -> None:
    search.main(["--peers", *sys.argv[1:]], passages=366_000, queries=300)


if __name__ == "__main__":
    main()
