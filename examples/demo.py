"""The main job in one go: build the corpus, ask five questions, then show and check how one answer came about."""

import subprocess
import sys
import tempfile
from pathlib import Path

QUESTIONS = Path(__file__).with_name("questions.txt")


def arborist(*arguments: str) -> str:
    """What `arborist` prints; the demo ends with its exit code where it fails."""
    print(f"\n$ arborist {' '.join(repr(item) if ' ' in item else item for item in arguments)}", flush=True)
    done = subprocess.run([sys.executable, "-m", "arborist", *arguments], stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="", flush=True)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


def last_word_of(line_start: str, output: str) -> str:
    return next(line.split()[-1] for line in output.splitlines() if line.startswith(line_start))


def main() -> None:
    arborist("build")
    arborist("corpus", "status")
    questions = QUESTIONS.read_text("utf-8").splitlines()
    keys = [last_word_of("cache_key", arborist("ask", "--", question)) for question in questions]
    arborist("ask", "-k", "debugging", "--", questions[0])
    arborist("inspect", keys[0])
    arborist("replay", "--all")
    with tempfile.TemporaryDirectory() as folder:
        bundle = str(Path(folder) / "bundle.json")
        arborist("ledger", "checkpoint")
        arborist("prove", keys[0], "-o", bundle)
        arborist("verify-bundle", bundle)


if __name__ == "__main__":
    main()
