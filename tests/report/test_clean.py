from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.report.clean import clean, one_line
from tests.report.made import HOSTILE


def test_escape_sequences_and_what_they_carry_are_removed() -> None:
    assert clean(HOSTILE) == "aredtxtz"


def test_an_unterminated_string_loses_its_start_and_keeps_its_text() -> None:
    assert clean("before \x1b]0;never ended\nnext line") == "before 0;never ended\nnext line"


def test_plain_text_in_any_script_stays() -> None:
    text = "Größe 12 GiB\tµs – 中文 🚀\nsecond line"
    assert clean(text) == text
    assert one_line(text) == "Größe 12 GiB µs – 中文 🚀 second line"


@given(st.text())
def test_no_control_character_passes_and_cleaning_twice_changes_nothing(text: str) -> None:
    cleaned = clean(text)
    assert not [char for char in cleaned if (ord(char) < 32 and char not in "\t\n") or 127 <= ord(char) < 160]
    cleaned.encode("utf-8")
    assert "\n" not in one_line(text)


@given(st.text(alphabet="\x1b[]0;1mA\x07\\\x9b\x9c ?"))
def test_no_mixture_of_sequences_leaves_one(text: str) -> None:
    assert not set(clean(text)) & {"\x1b", "\x9b", "\x9c", "\x07"}
