"""The embedded answer model: it picks sentences of the evidence, word for word, or says that none answers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from arborist.answering.abstention import abstention_text, is_abstention
from arborist.answering.answerability import EvidenceTerms, Features, Passage, features_of, root
from arborist.answering.claims import defused
from arborist.answering.model import Message, ModelAnswer, ModelIdentity
from arborist.answering.question import Question
from arborist.answering.sentences import opens_with_pronoun, sentences_of
from arborist.answering.statement import statement_of
from arborist.policy import SELF_REFERENCE
from arborist.retrieval.context import Evidence
from arborist.retrieval.promoted import claims_stated

REVISION = "extractive-1"

_SENTENCE_END = re.compile(r"""[.!?…。！？]["'”’»)\]*_`]*\Z""")

# Fitted by `bench/extractive.py --fit` on half of squad2_wiki, signs held to what each feature means.
WEIGHTS = Features(
    covered=0.52,
    words_lacking=-0.67,
    names_lacking=-1.24,
    names_nowhere=-0.17,
    numbers_lacking=-1.11,
    opposed=-2.73,
    negation_differs=-2.15,
    length=1.3,
    answer_distance=-0.46,
    answer_cue=0.25,
)
BIAS = -0.23


@dataclass(frozen=True, slots=True)
class ExtractiveSettings:
    """The operating point.

    A sentence answers when its margin (weighted features and bias) is at least `min_margin` and it covers at
    least `min_coverage` of the question, weighted by rarity. `max_sentences` is how many an answer has at most; a
    further one must cover no less than the first less `coverage_slack`.
    """

    min_margin: float = 0.2
    min_coverage: float = 0.35
    max_sentences: int = 2
    coverage_slack: float = 0.05


@dataclass(frozen=True, slots=True)
class _Candidate:
    """One sentence of the evidence: where it stands, and how it measures against the question."""

    number: int
    position: int
    text: str
    features: Features

    @property
    def margin(self) -> float:
        return BIAS + sum(w * v for w, v in zip(WEIGHTS.values(), self.features.values(), strict=True))

    @property
    def rank(self) -> tuple[float, int, int]:
        """What the sentence holds of the question, most first; ties by place."""
        held = self.features.covered - self.features.words_lacking - self.features.names_lacking
        return (-held, self.number, self.position)


class ExtractiveModel:
    """Deterministic, without weights to load and without network."""

    deterministic = True

    def __init__(self, settings: ExtractiveSettings | None = None) -> None:
        self._settings = settings or ExtractiveSettings()

    @property
    def identity(self) -> ModelIdentity:
        settings = self._settings
        return ModelIdentity(
            "extractive",
            REVISION,
            (
                ("coverage_slack", settings.coverage_slack),
                ("max_sentences", settings.max_sentences),
                ("min_coverage", settings.min_coverage),
                ("min_margin", settings.min_margin),
            ),
        )

    def answer(self, question: str, evidence: Sequence[Evidence], messages: Sequence[Message] = ()) -> ModelAnswer:
        """Sentences of the evidence, each with its `[E#]`, or an abstention that says what is missing.

        Promoted answers are read only where everything else has none.
        """
        asked = Question.of(question)
        if not asked.terms:
            return _abstention("a question that names what it is about.")
        sources = [item for item in evidence if item.role != SELF_REFERENCE]
        answer = self._answer_from(asked, sources)
        if answer.abstained and len(sources) < len(evidence):
            # An earlier answer is heard where the sources are silent; beside them it would only be an echo.
            return self._answer_from(asked, evidence)
        return answer

    def _answer_from(self, asked: Question, evidence: Sequence[Evidence]) -> ModelAnswer:
        if not evidence:
            return _abstention("no evidence was found for the question.")
        terms, candidates = _ranked(asked, evidence)
        chosen = self._chosen(candidates)
        if not chosen:
            return _abstention(_missing(asked, candidates, terms))
        return ModelAnswer("\n".join(f"{item.text} [E{item.number}]" for item in chosen))

    def _chosen(self, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """The best sentence and what is as good, in the order of the evidence; none when the best does not do."""
        if not candidates or not self._answers(candidates[0]):
            return []
        best = candidates[0]
        floor = best.features.covered - self._settings.coverage_slack
        others = [
            item
            for item in candidates[1:]
            if self._answers(item)
            and item.features.covered >= floor
            and item.margin >= best.margin
            and item.text != best.text
        ]
        return [best, *others[: self._settings.max_sentences - 1]]

    def _answers(self, candidate: _Candidate) -> bool:
        return (
            candidate.margin >= self._settings.min_margin
            and candidate.features.covered >= self._settings.min_coverage
        )


def best_features(question: str, evidence: Sequence[Evidence]) -> Features | None:
    """The features of the sentence that the model would answer with; None where no sentence shares a term."""
    _, candidates = _ranked(Question.of(question), evidence)
    return candidates[0].features if candidates else None


def _ranked(asked: Question, evidence: Sequence[Evidence]) -> tuple[EvidenceTerms, list[_Candidate]]:
    """The terms of the evidence, and its sentences in the order of what they hold of the question."""
    read = [_Read(item) for item in evidence]
    terms = EvidenceTerms([passage for item in read for passage in item.passages])
    candidates = [candidate for item in read for candidate in item.candidates(asked, terms)]
    return terms, sorted(candidates, key=lambda candidate: candidate.rank)


class _Read:
    """One piece of evidence, read sentence by sentence."""

    def __init__(self, evidence: Evidence) -> None:
        self._number = evidence.number
        # A promoted answer is read for its claims: its question covers every question like it, and answers none.
        text = claims_stated(evidence.text) if evidence.role == SELF_REFERENCE else evidence.text
        self._sentences = [" ".join(sentence.text.split()) for sentence in sentences_of(text)]
        title = frozenset(statement_of(evidence.title).keys)
        statements = [statement_of(sentence) for sentence in self._sentences]
        self.passages = [
            Passage(
                statement,
                before=frozenset(statements[index - 1].keys) if index else frozenset(),
                title=title,
                opens_with_pronoun=opens_with_pronoun(self._sentences[index]),
            )
            for index, statement in enumerate(statements)
        ]

    def candidates(self, asked: Question, terms: EvidenceTerms) -> list[_Candidate]:
        """The quotable sentences that share a term with the question."""
        wanted = frozenset(root(term.key) for term in asked.terms)
        return [
            _Candidate(self._number, position, defused(sentence), features_of(asked, passage, terms))
            for position, (sentence, passage) in enumerate(zip(self._sentences, self.passages, strict=True))
            if not wanted.isdisjoint(map(root, passage.statement.keys)) and _is_quotable(sentence)
        ]


def _is_quotable(sentence: str) -> bool:
    """Whether it ends as a sentence does, which headings and code do not, and would not read as an abstention."""
    return _SENTENCE_END.search(sentence) is not None and not is_abstention(sentence)


def _abstention(missing: str) -> ModelAnswer:
    return ModelAnswer(abstention_text(missing), abstained=True)


def _missing(asked: Question, candidates: Sequence[_Candidate], terms: EvidenceTerms) -> str:
    """What the evidence lacks, in the order: words it never has, an opposite, the thing asked for."""
    lacking = [term.word for term in asked.terms if root(term.key) not in terms.roots]
    if lacking:
        return f"the evidence says nothing about {', '.join(dict.fromkeys(lacking))}."
    if candidates and (candidates[0].features.opposed or candidates[0].features.negation_differs):
        return "the evidence speaks of the contrary of what is asked."
    return f"no sentence of the evidence states {asked.wanted} asked for."
