"""Golden sets out of BEIR, TREC and SQuAD files."""

import json
from pathlib import Path

import pytest

from arborist.errors import InputError
from arborist.evaluation.golden import Form, GoldenQuestion
from arborist.evaluation.golden_import import Imported, ImportOptions, beir_set, squad_set, trec_set

DEFAULTS = ImportOptions()
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t1\nq2\td3\t1\nq3\td1\t0\n"


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    queries = [{"_id": f"q{n}", "text": f"Query {n}?", "metadata": {}} for n in range(1, 5)]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in queries), "utf-8")
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(QRELS, "utf-8")
    (tmp_path / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq4\td9\t1\n", "utf-8")
    return tmp_path


def ids(imported: Imported) -> list[tuple[str, tuple[str, ...]]]:
    return [(question.id, question.expected_document_ids) for question in imported.graded.golden.questions]


def test_beir_judgements_become_targets_and_grades(beir: Path) -> None:
    imported = beir_set(beir, "sci_fact", DEFAULTS)
    assert ids(imported) == [("q1", ("d1", "d2")), ("q2", ("d3",))]
    assert imported.graded.grades == {"q1": {"d1": 2, "d2": 1}}
    assert imported.graded.golden.identifier == "sci_fact"
    assert imported.left_out == {"without a relevant document": 2}


def test_what_the_format_does_not_say_is_an_option(beir: Path) -> None:
    imported = beir_set(beir, "s", ImportOptions(Form.GAP, "sci/", 2))
    assert imported.graded.golden.questions == (GoldenQuestion("q1", "Query 1?", Form.GAP, ("sci/d1",)),)
    assert imported.graded.grades == {"q1": {"sci/d1": 2, "sci/d2": 1}}
    assert ids(beir_set(beir, "s", ImportOptions(split="dev"))) == [("q4", ("d9",))]
    with pytest.raises(InputError, match="dev, test"):
        beir_set(beir, "s", ImportOptions(split="train"))


@pytest.mark.parametrize("layout", ["tagged", "tabs"])
def test_trec_topics_come_tagged_or_with_tabs(tmp_path: Path, layout: str) -> None:
    tagged = "<top>\n<num> Number: 301\n<title> Oil\n spills\n<desc> Description:\nmore\n</top>\n"
    (tmp_path / "topics.txt").write_text(tagged if layout == "tagged" else "301\tOil spills\n", "utf-8")
    (tmp_path / "qrels.txt").write_text("301 0 FT-1 1\n301 0 FT-2 0\n302 0 FT-3 1\n", "utf-8")
    imported = trec_set(tmp_path, "robust", DEFAULTS)
    assert imported.graded.golden.questions == (GoldenQuestion("301", "Oil spills", Form.MATCH, ("FT-1",)),)
    assert imported.graded.grades == {}


def test_squad_questions_point_to_their_paragraphs(tmp_path: Path) -> None:
    def qas(name: str, **more: bool) -> dict[str, object]:
        return {"id": name, "question": f" {name}? ", "answers": []} | more

    paragraphs = [
        {"context": "c", "qas": [qas("a", is_impossible=False)]},
        {"context": "d", "qas": [qas("b"), qas("c", is_impossible=True)]},
    ]
    article = {"title": "Oil_Spills (1989)", "paragraphs": paragraphs}
    path = tmp_path / "dev.json"
    path.write_text(json.dumps({"version": "v2.0", "data": [article]}), "utf-8")
    imported = squad_set(path, "squad", ImportOptions(document_prefix="wiki/"))
    assert ids(imported) == [("a", ("wiki/oil-spills-1989-001",)), ("b", ("wiki/oil-spills-1989-002",))]
    assert imported.graded.golden.questions[0].question == "a?"
    assert imported.left_out == {"not answered by their paragraph": 1}


def test_the_labelled_questions_of_the_shared_data(shared_data: Path) -> None:
    imported = squad_set(shared_data / "squad2_wiki" / "questions.jsonl", "squad", DEFAULTS)
    assert len(imported.graded.golden.questions) == 3762
    assert imported.left_out == {"not answered by their paragraph": 3168}


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (
            "queries.jsonl",
            '{"_id": "q1", "text": "Q"}\nnot json\n',
            r"queries\.jsonl: line 2: is not a JSON object",
        ),
        ("queries.jsonl", '{"_id": "q1"}\n', r"queries\.jsonl: line 1: text is missing"),
        ("qrels/test.tsv", "h\nq1\td1\n", r"test\.tsv: line 2: has 2 fields where 3"),
        ("qrels/test.tsv", "h\th\th\nq1\td1\thigh\n", r"test\.tsv: line 2: the grade 'high'"),
        ("qrels/test.tsv", "h\th\th\nq1\td1\t0\n", "no question has a document"),
    ],
)
def test_a_faulty_file_is_told_with_its_line(beir: Path, file: str, content: str, message: str) -> None:
    (beir / file).write_text(content, "utf-8")
    with pytest.raises(InputError, match=message):
        beir_set(beir, "s", DEFAULTS)


@pytest.mark.parametrize("content", ["{", "[]", '{"data": [{"title": "t"}]}', '{"data": 7}'])
def test_what_is_not_squad_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content, "utf-8")
    with pytest.raises(InputError, match="SQuAD"):
        squad_set(tmp_path / "x.json", "s", DEFAULTS)


def test_missing_and_ambiguous_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        beir_set(tmp_path, "s", DEFAULTS)
    with pytest.raises(InputError, match=r"holds 0 files topics\*"):
        trec_set(tmp_path, "s", DEFAULTS)
