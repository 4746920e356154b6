"""What documents hold is shown by the terminal and never obeyed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.cli.text import shown


@pytest.mark.parametrize("hostile", ["\x1b[2J", "\x9b31m", "\r", "\x07", "\x00", "\u202e", "\u2028", "\x7f"])
def test_a_control_sequence_is_spelled_out(hostile: str) -> None:
    assert shown(f"a{hostile}b").isascii()
    assert shown(f"a{hostile}b") != f"a{hostile}b"


@pytest.mark.parametrize("harmless", ["a b\n\tc", "Straße 😀", "a\u00a0b", "日本語"])
def test_other_text_is_left_as_it_is(harmless: str) -> None:
    assert shown(harmless) == harmless


@given(st.text())
def test_nothing_shown_can_move_the_cursor_but_line_ends_and_tabs(text: str) -> None:
    assert not [c for c in shown(text) if (ord(c) < 32 or 127 <= ord(c) < 160) and c not in "\n\t"]


@given(st.text())
def test_showing_twice_changes_nothing_more(text: str) -> None:
    assert shown(shown(text)) == shown(text)
