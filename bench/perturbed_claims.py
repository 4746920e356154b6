"""True claims taken from paragraphs, and the same claims with one thing in them made false."""

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from arborist.answering.lexicon import MONTHS
from arborist.answering.sentences import sentences_of
from arborist.retrieval.context import Evidence

# How many of each kind make up the 2,000.
COUNTS = {
    "number": 300,
    "date": 250,
    "unit": 150,
    "quote-invented": 150,
    "quote-spliced": 150,
    "quote-misattributed": 150,
    "negation": 250,
    "antonym": 200,
    "name": 400,
}


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split(":") for pair in text.split())


_MONTHS = [month.capitalize() for month in MONTHS if len(month) > 4 or month in ("may", "june", "july")]
_NUMBER = re.compile(r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?![\w])|(?<![\w.,-])\d+(?:\.\d+)?(?![\w,.]\d|\w)")
_YEAR = re.compile(r"\b1[0-9]\d\d\b|\b20[012]\d\b")
_NUMBER_WORDS = _pairs("""
    two:three three:four four:six five:seven six:eight seven:nine eight:five ten:twelve twelve:eleven
    twenty:thirty thirty:forty first:third second:fourth third:second million:billion billion:million
    thousand:million hundred:thousand
""")
_UNITS = _pairs("""
    km:miles kilometres:miles kilometers:miles miles:kilometres mi:km metres:feet meters:feet feet:metres ft:m
    m:ft inches:centimetres kg:lb pounds:kilograms tonnes:pounds tons:kilograms hours:minutes minutes:hours
    days:weeks weeks:months months:years years:months seconds:minutes acres:hectares percent:degrees
    dollars:euros decades:centuries centuries:decades
""")
_AFTER = r"(?P<verb>\b(?:is|are|was|were|has|had|have|can|could|will|would|must|did|does)\b)"
_NEGATABLE = re.compile(_AFTER + r"(?! not|n't| no | never)", re.I)
_NEGATED = re.compile(r"\b(?:not|never) |n't\b", re.I)
# Written for this bench, not taken from the verifier's own list.
ANTONYMS = _pairs("""
    increased:decreased decreased:increased increase:decrease rising:falling rose:fell fell:rose high:low
    low:high higher:lower lower:higher large:small small:large larger:smaller largest:smallest
    smallest:largest long:short short:long old:young new:old early:late late:early earlier:later later:earlier
    before:after after:before above:below below:above over:under under:over north:south south:north east:west
    west:east northern:southern southern:northern eastern:western western:eastern more:fewer most:least
    many:few few:many all:none always:never often:rarely strong:weak weak:strong rich:poor poor:rich hot:cold
    cold:hot warm:cool fast:slow slow:fast won:lost lost:won victory:defeat defeat:victory began:ended
    started:stopped opened:closed closed:opened accepted:rejected rejected:accepted supported:opposed
    opposed:supported allowed:banned positive:negative negative:positive good:bad better:worse best:worst
    common:rare major:minor public:private private:public internal:external external:internal maximum:minimum
    minimum:maximum first:last last:first male:female female:male ancient:modern modern:ancient simple:complex
    complex:simple possible:impossible legal:illegal similar:dissimilar same:different different:identical
    majority:minority minority:majority success:failure successful:unsuccessful native:foreign foreign:native
    founded:abolished built:demolished created:destroyed destroyed:preserved gained:forfeited joined:left
    included:excluded including:excluding famous:obscure important:trivial popular:unpopular rural:urban
    urban:rural northwest:southeast wide:narrow deep:shallow heavy:light dry:wet inner:outer upper:lower
    left:right peace:war war:peace friend:enemy enemy:ally agreed:disagreed permanent:temporary
""")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,}){0,2}(?![\w’'])")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NOT_NAMES = frozenset({*_MONTHS, *_DAYS, "The", "This"})


@dataclass(frozen=True, slots=True)
class PerturbedClaim:
    """A claim that its evidence states, its altered form, and the evidence; `citation` is the number both cite.

    `twin_citation` differs from `citation` only where the alteration is the citation itself.
    """

    kind: str
    twin: str
    altered: str
    evidence: tuple[Evidence, ...]
    twin_citation: int
    citation: int


@dataclass(frozen=True, slots=True)
class _Place:
    """A sentence of a paragraph, with the evidence around it: its own paragraph, a near one, a far one."""

    sentence: str
    evidence: tuple[Evidence, Evidence, Evidence]


Alteration = Callable[[_Place, random.Random], tuple[str, str] | None]


def perturbed_claims(squad_folder: Path, seed: int) -> Iterator[PerturbedClaim]:
    """The claims by kind, as many as COUNTS says, from the paragraphs in `squad_folder`."""
    chance = random.Random(seed)
    places = list(_places(squad_folder))
    for kind, wanted in COUNTS.items():
        chance.shuffle(places)
        made = 0
        for place in places:
            pair = _ALTERATIONS[kind](place, chance)
            if pair is None or (pair[0] == pair[1] and kind != "quote-misattributed"):
                continue
            citation = 2 if kind == "quote-misattributed" else 1
            yield PerturbedClaim(kind, pair[0], pair[1], place.evidence, 1, citation)
            made += 1
            if made == wanted:
                break
        if made < wanted:
            raise SystemExit(f"only {made} of {wanted} claims could be made for {kind}")


def _places(folder: Path) -> Iterator[_Place]:
    documents = [
        json.loads(line)
        for name in ("docs_gold.jsonl", "docs_distractors.jsonl")
        for line in (folder / name).read_text(encoding="utf-8").splitlines()
    ]
    for index, document in enumerate(documents):
        near = documents[index - 1]
        far = documents[(index + len(documents) // 2) % len(documents)]
        evidence = (_evidence(1, document), _evidence(2, near), _evidence(3, far))
        for sentence in sentences_of(document["text"]):
            if 8 <= len(sentence.text.split()) <= 40 and '"' not in sentence.text and sentence.text.endswith("."):
                yield _Place(sentence.text, evidence)


def _evidence(number: int, document: dict[str, str]) -> Evidence:
    return Evidence(
        number,
        document["doc_id"],
        0,
        "",
        "primary",
        "bench",
        document["doc_id"],
        document["title"],
        document["text"],
    )


def _replaced(text: str, match: re.Match[str], new: str) -> str:
    return text[: match.start()] + new + text[match.end() :]


def _other_number(place: _Place, chance: random.Random) -> tuple[str, str] | None:
    words = [match for match in re.finditer(r"\b[a-z]+\b", place.sentence) if match[0] in _NUMBER_WORDS]
    digits = [match for match in _NUMBER.finditer(place.sentence) if not _YEAR.fullmatch(match[0])]
    if not words and not digits:
        return None
    match = chance.choice(words + digits)
    if match[0] in _NUMBER_WORDS:
        return place.sentence, _replaced(place.sentence, match, _NUMBER_WORDS[match[0]])
    elsewhere = [n for n in _NUMBER.findall(place.evidence[0].text) if n not in place.sentence]
    if elsewhere and chance.random() < 0.5:
        return place.sentence, _replaced(place.sentence, match, chance.choice(elsewhere))
    digit = chance.randrange(len(match[0]))
    changed = match[0][:digit] + chance.choice("123456789") + match[0][digit + 1 :]
    return (place.sentence, _replaced(place.sentence, match, changed)) if match[0][digit].isdigit() else None


def _other_date(place: _Place, chance: random.Random) -> tuple[str, str] | None:
    months = [match for match in re.finditer(r"\b[A-Z][a-z]+\b", place.sentence) if match[0] in _MONTHS]
    years = list(_YEAR.finditer(place.sentence))
    if not months and not years:
        return None
    match = chance.choice(months + years)
    if match[0] in _MONTHS:
        return place.sentence, _replaced(
            place.sentence, match, chance.choice([m for m in _MONTHS if m != match[0]])
        )
    elsewhere = [year for year in _YEAR.findall(place.evidence[0].text) if year not in place.sentence]
    if elsewhere and chance.random() < 0.5:
        return place.sentence, _replaced(place.sentence, match, chance.choice(elsewhere))
    return place.sentence, _replaced(
        place.sentence, match, str(int(match[0]) + chance.choice([-10, -2, -1, 1, 3]))
    )


def _other_unit(place: _Place, chance: random.Random) -> tuple[str, str] | None:
    found = [match for match in re.finditer(r"(?<=\d )[a-z]+\b", place.sentence) if match[0] in _UNITS]
    if not found:
        return None
    match = chance.choice(found)
    return place.sentence, _replaced(place.sentence, match, _UNITS[match[0]])


def _quoting(sentence: str, chance: random.Random) -> tuple[list[str], int, int] | None:
    """The words of a sentence and the ends of a run in its middle that can be put in quotation marks."""
    words = sentence.split()
    length = chance.randint(4, 8)
    if len(words) < length + 3:
        return None
    start = chance.randint(1, len(words) - length - 1)
    return words, start, start + length


def _with_quote(words: list[str], start: int, end: int, run: list[str]) -> str:
    return " ".join([*words[:start], f'"{" ".join(run)}"', *words[end:]])


def _invented_quote(place: _Place, chance: random.Random) -> tuple[str, str] | None:
    quoting = _quoting(place.sentence, chance)
    if quoting is None:
        return None
    words, start, end = quoting
    run = words[start:end]
    changed = list(run)
    # A quotation is invented by one foreign word as much as by many.
    for at in chance.sample(range(len(run)), chance.choice([1, 1, 2, len(run)])):
        changed[at] = chance.choice(["surely", "gladly", "purple", "seventeen", "nobody", "quickly", "whales"])
    return _with_quote(words, start, end, run), _with_quote(words, start, end, changed)


def _spliced_quote(place: _Place, chance: random.Random) -> tuple[str, str] | None:
    quoting = _quoting(place.sentence, chance)
    other = chance.choice(sentences_of(chance.choice(place.evidence).text)).text
    run_elsewhere = _quoting(other, chance)
    if quoting is None or run_elsewhere is None or other == place.sentence:
        return None
    words, start, end = quoting
    run, far = words[start:end], run_elsewhere[0][run_elsewhere[1] : run_elsewhere[2]]
    if not all(any(letter.isalnum() for letter in word) for word in far):
        return None
    return _with_quote(words, start, end, run), _with_quote(words, start, end, run[:3] + far[-3:])


def _misattributed_quote(place: _Place, chance: random.Random) -> tuple[str, str] | None:
    quoting = _quoting(place.sentence, chance)
    if quoting is None:
        return None
    words, start, end = quoting
    quoted = _with_quote(words, start, end, words[start:end])
    return quoted, quoted


def _negation(place: _Place, chance: random.Random) -> tuple[str, str] | None:
    negated = list(_NEGATED.finditer(place.sentence))
    if negated:
        return place.sentence, _replaced(place.sentence, chance.choice(negated), "")
    found = list(_NEGATABLE.finditer(place.sentence))
    if not found:
        return None
    match = chance.choice(found)
    return place.sentence, _replaced(place.sentence, match, f"{match['verb']} {chance.choice(['not', 'never'])}")


def _antonym(place: _Place, chance: random.Random) -> tuple[str, str] | None:
    found = [match for match in re.finditer(r"\b[a-z]+\b", place.sentence) if match[0] in ANTONYMS]
    if not found:
        return None
    match = chance.choice(found)
    return place.sentence, _replaced(place.sentence, match, ANTONYMS[match[0]])


def _other_name(place: _Place, chance: random.Random) -> tuple[str, str] | None:
    names = [match for match in _NAME.finditer(place.sentence) if not _NOT_NAMES.intersection(match[0].split())]
    if not names:
        return None
    if len({match[0] for match in names}) > 1 and chance.random() < 0.5:
        left, right = sorted(chance.sample(names, 2), key=lambda match: match.start())
        if left[0] == right[0]:
            return None
        swapped = _replaced(place.sentence, right, left[0])
        return place.sentence, _replaced(swapped, left, right[0])
    match = chance.choice(names)
    source = place.evidence[chance.choice([0, 0, 1, 2])].text
    others = [
        n for n in _NAME.findall(source) if n not in place.sentence and not _NOT_NAMES.intersection(n.split())
    ]
    return (place.sentence, _replaced(place.sentence, match, chance.choice(others))) if others else None


_ALTERATIONS: dict[str, Alteration] = {
    "number": _other_number,
    "date": _other_date,
    "unit": _other_unit,
    "quote-invented": _invented_quote,
    "quote-spliced": _spliced_quote,
    "quote-misattributed": _misattributed_quote,
    "negation": _negation,
    "antonym": _antonym,
    "name": _other_name,
}
