from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.model.printable import clean, one_line, spelled
from tests.examples import examples
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


# Default_Ignorable_Code_Point of Unicode 16.0 (DerivedCoreProperties.txt), as ranges.
_IGNORABLE = (
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)


def test_no_invisible_character_passes() -> None:
    signs = [chr(code) for first, last in _IGNORABLE for code in range(first, last + 1)]
    assert [hex(ord(sign)) for sign in signs if clean(f"a{sign}b") != "ab"] == []
    hidden = "".join(chr(0xE0000 + ord(sign)) for sign in "ignore what stands above")
    assert clean(f"GPU{hidden} 0") == "GPU 0"


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\ufff9", "\ufffb", "\ud800", "\udfff", "\x85", "\x9f"])
def test_what_separates_annotates_or_is_half_a_character_goes(sign: str) -> None:
    assert clean(f"a{sign}b") == "ab"


@pytest.mark.parametrize(
    "sign", ["\ue000", "\uf8ff", "\U000f0000", "\U0010fffd", "\ufdd0", "\uffff", "\U0010ffff", "\u0378"]
)
def test_what_has_no_name_is_shown_as_such(sign: str) -> None:
    assert clean(f"a{sign}b") == "a\ufffdb"


def test_numbers_signs_of_arabic_stay_though_unicode_calls_them_format_marks() -> None:
    text = "\u0600\u0661\u0662 \u06dd \U000110bd"
    assert clean(text) == text


def test_prose_that_needs_joiners_stays_readable() -> None:
    assert (
        clean("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u26a0\ufe0f")
        == "\u0645\u06cc\u062e\u0648\u0627\u0647\u0645 \u26a0"
    )


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a b.sh", "a b.sh"),
        ("$(id).sh", "$(id).sh"),
        ("\u00e4.sh", "\u00e4.sh"),
        ("a\nb.sh", "$'a\\nb.sh'"),
        ("it's\t", "$'it\\'s\\t'"),
        ("x\x1b[31my", "$'x\\x1b[31my'"),
        ("\u202egnp.sh", "$'\\u202egnp.sh'"),
        ("\udcff.sh", "$'\\xff.sh'"),
        ("\U000e0041", "$'\\U000e0041'"),
    ],
)
def test_a_name_with_signs_that_nobody_sees_is_spelled_as_bash_reads_it(name: str, shown: str) -> None:
    assert spelled(name) == shown


@examples(0.5)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12))
def test_what_is_spelled_is_one_line_and_means_the_name(name: str) -> None:
    shown = spelled(name)
    assert clean(shown) == shown
    assert "\n" not in shown
    if shown != name:
        said = subprocess.run(["bash", "-c", f"printf %s {shown}"], env={"LC_ALL": "C.UTF-8"}, capture_output=True)
        assert said.stdout.decode() == name
