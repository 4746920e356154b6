"""Names and numbers of the scoring protocol."""

import pytest

from arborist.errors import InputError
from arborist.evaluation.protocol import SCORING_VERSION, STANDARD, ScoringProtocol, top_k_of


def test_the_standard_protocol_has_the_contracts_name_and_asks_for_12_results() -> None:
    assert STANDARD.version == SCORING_VERSION == "distinct-documents-top1-top3-no-result-v1"
    assert (STANDARD.limit, STANDARD.depth) == (12, 10)


def test_other_constants_are_another_scoring() -> None:
    protocols = [ScoringProtocol(k, over) for k in (1, 3, 5) for over in (1, 4, 8)]
    assert len({protocol.version for protocol in protocols}) == len(protocols)
    assert [top_k_of(protocol.version) for protocol in protocols] == [protocol.top_k for protocol in protocols]


@pytest.mark.parametrize(("top_k", "over_fetch"), [(0, 4), (3, 0), (-1, 4), (101, 100)])
def test_numbers_that_make_no_sense_are_refused(top_k: int, over_fetch: int) -> None:
    with pytest.raises(InputError):
        ScoringProtocol(top_k, over_fetch)
