"""Which titles lead to which page."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arborist.corpus.sources.redirects import Redirects


@pytest.fixture
def redirects(tmp_path: Path) -> Iterator[Redirects]:
    with closing(Redirects(tmp_path / "redirects.db")) as table:
        yield table


def test_a_page_is_known_by_all_titles_that_lead_to_it(redirects: Redirects) -> None:
    redirects.add_redirect("B", "A")
    redirects.add_redirect("C", "B")
    redirects.add_page("A")
    redirects.add_redirect("AA", "A")
    assert redirects.aliases("A") == ("AA", "B", "C")
    assert list(redirects.unresolved()) == []


def test_redirects_in_a_circle_or_to_nowhere_lead_to_no_page(redirects: Redirects) -> None:
    redirects.add_redirect("B", "C")
    redirects.add_redirect("C", "B")
    redirects.add_redirect("D", "D")
    redirects.add_redirect("E", "nowhere")
    redirects.add_page("A")
    assert redirects.aliases("A") == ()
    assert list(redirects.unresolved()) == [("B", "C"), ("C", "B"), ("D", "D"), ("E", "nowhere")]


def resolved(title: str, targets: Mapping[str, str], pages: set[str]) -> str:
    """The page that following `targets` step by step comes to, or ""."""
    for _ in range(len(targets) + 1):
        if title in pages:
            return title
        title = targets.get(title, "")
    return ""


TITLES = st.sampled_from("ABCDEFG")


@given(TITLES.map(lambda title: {title}) | st.sets(TITLES), st.dictionaries(TITLES, TITLES))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
def test_aliases_are_what_following_each_redirect_finds(
    tmp_path_factory: pytest.TempPathFactory, pages: set[str], targets: dict[str, str]
) -> None:
    targets = {title: target for title, target in targets.items() if title not in pages}
    with closing(Redirects(tmp_path_factory.mktemp("wiki") / "redirects.db")) as table:
        for page in pages:
            table.add_page(page)
        for title, target in targets.items():
            table.add_redirect(title, target)
        for page in pages:
            expected = sorted(title for title in targets if resolved(title, targets, pages) == page)
            assert list(table.aliases(page)) == expected
        lost = sorted(title for title in targets if not resolved(title, targets, pages))
        assert [title for title, _ in table.unresolved()] == lost
