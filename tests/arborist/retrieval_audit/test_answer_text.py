"""Citation markers and extract rows in the text of an answer."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.retrieval_audit.answer_text import TextBlock, extract_ids, marker_ids
from arborist.retrieval_audit.findings import BlockedError, Failure, Findings

identifiers = st.text(st.characters(exclude_characters="]\r\n["), min_size=1, max_size=8)
prose = st.text("ab [:]_\n", max_size=12).filter(lambda text: "[ref_id:" not in text)


def block(text: str) -> TextBlock:
    return TextBlock(text, "/text")


@given(st.lists(st.tuples(prose, identifiers), max_size=12), prose)
def test_every_marker_gives_its_id_untrimmed_and_in_order(parts: list[tuple[str, str]], rest: str) -> None:
    text = "".join(f"{before}[ref_id:{identifier}]" for before, identifier in parts) + rest
    assert [use.identifier for use in marker_ids([block(text)])] == [identifier for _, identifier in parts]


@pytest.mark.parametrize(
    "text", ["[ref_id:" * 500_000, "[ref_id:" + "a" * 5_000_000, "[ref_id:a]" * 500 + "[ref_id:"]
)
def test_markers_without_an_end_are_refused_in_linear_time(text: str) -> None:
    started = time.process_time()
    with pytest.raises(BlockedError) as blocked:
        marker_ids([block(text)])
    assert blocked.value.finding.code is Failure.CITATION_MARKER_MALFORMED
    assert time.process_time() - started < 2


@pytest.mark.parametrize("text", ["[Ref_id:0]", "[ref_id 0]", "ref_id:0]", "[ ref_id:0]"])
def test_other_brackets_are_no_markers(text: str) -> None:
    assert marker_ids([block(text)]) == []


@given(
    st.lists(
        st.integers(0, 10**12) | identifiers.filter(lambda text: bool(text.strip())), unique_by=str, max_size=12
    )
)
def test_rows_give_their_ids_as_strings(ids: list[int | str]) -> None:
    findings = Findings()
    texts = [json.dumps([{"ref_id": identifier, "content": "x"}]) for identifier in ids]
    used = extract_ids([block(text) for text in texts], findings)
    assert [use.identifier for use in used] == [str(identifier) for identifier in ids]
    assert findings == Findings()


@pytest.mark.parametrize(
    "row", [{"ref_id": 0, "page": 5}, {"ref_id": 0, "content": None}, {"ref_id": 0, "content": ["x"]}]
)
def test_a_row_needs_text(row: dict[str, Any]) -> None:
    findings = Findings()
    extract_ids([block(json.dumps([row]))], findings)
    assert findings.findings.listed[0].code is Failure.EXTRACT_PAYLOAD_MISSING


def test_a_thousand_uses_are_accepted() -> None:
    assert len(marker_ids([block("[ref_id:0]" * 1_000)])) == 1_000
