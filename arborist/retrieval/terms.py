"""From a question and keywords to the terms that are searched for. Text is data: no operator survives."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import apsw

from arborist.policy import RankingPolicy
from arborist.retrieval.stopwords import ENGLISH_V1

WORDS = ("unicode61", "remove_diacritics", "2")

Tokenize = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class Term:
    """A search term: `word` as FTS5 is asked for it, `stem` as the index holds it, and its weight in the score."""

    word: str
    stem: str
    weight: float


def tokenizer(connection: apsw.Connection, name: Sequence[str]) -> Tokenize:
    """FTS5's own tokenizer of that name and arguments, as a function from text to tokens."""
    tokenize = connection.fts5_tokenizer(name[0], list(name[1:]))

    def tokens(text: str) -> list[str]:
        utf8 = text.encode("utf-8", "replace")
        found = tokenize(utf8, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
        return cast(list[str], found)

    return tokens


def query_terms(
    question: str, keywords: Sequence[str], policy: RankingPolicy, words: Tokenize, stems: Tokenize
) -> list[Term]:
    """The content words of question and keywords, one term a stem, sorted by stem.

    Stopwords go, unless question and keywords hold nothing else. Sorting fixes the order in which scores are
    summed, and with it their last bits (`performance.md`, Replay exactness).
    """
    asked, hinted = words(question), [word for keyword in keywords for word in words(keyword)]
    stopwords = ENGLISH_V1 if policy.stopwords == "english-v1" else frozenset()
    if any(word not in stopwords for word in (*asked, *hinted)):
        asked = [word for word in asked if word not in stopwords]
        hinted = [word for word in hinted if word not in stopwords]
    weights: dict[str, float] = {}
    for stem in _unique(asked, stems):
        weights[stem] = 1.0
    for stem in _unique(hinted, stems):
        weights[stem] = weights.get(stem, 0.0) + policy.keyword_weight
    spelled: dict[str, str] = {}
    for word in sorted({*asked, *hinted}):
        for stem in stems(word):
            spelled.setdefault(stem, word)
    return [Term(spelled[stem], stem, weight) for stem, weight in sorted(weights.items()) if weight > 0]


def _unique(words: Iterable[str], stems: Tokenize) -> set[str]:
    return {stem for word in words for stem in stems(word)}


def match_expression(terms: Sequence[Term]) -> str:
    """The FTS5 expression that matches any of the terms; each is a quoted string, so nothing in it is syntax."""
    return " OR ".join('"' + term.word.replace('"', '""') + '"' for term in terms)
