"""Lines are passed over by their shapes, where no line of a shape can name a card or hold a sign that is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocdoctor.knowledge.gpus.profiles import all_profiles
from rocdoctor.parsers.formats.alike_lines import alike
from rocdoctor.paste import named_cards
from rocdoctor.paste.clean_text import clean
from rocdoctor.paste.named_cards import like_a_card

_TEXTS = Path(__file__).parents[1] / "texts"


def test_each_line_that_names_a_card_has_a_shape_that_may() -> None:
    names = [f"my {name} is hot" for profile in all_profiles() for name in profile.names]
    lines = [*names, *(line for path in _TEXTS.rglob("*.txt") for line in path.read_text("utf-8").splitlines())]
    naming = [line for line in lines if named_cards._CARD.search(line) or named_cards._GFX.search(line)]
    assert len(naming) > 300
    assert [line for line in naming if not like_a_card(alike(line))] == []


@pytest.mark.parametrize(
    "line", ["[rank3]: GPU 5 has a total capacity of 191.98 GiB of which 12.00 MiB is free", "my loss is 0.3150"]
)
def test_a_line_without_a_card_is_passed_over(line: str) -> None:
    assert not like_a_card(alike(line))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("\u201cHIP error\u201d \u2588\u2588 50%\u00a0|", '"HIP error" \u2588\u2588 50% |'),
        ("zero\u200bwidth \u2019s\x0bnext", "zerowidth 's next"),
        ("plain\x0bascii", "plain\x0bascii"),
        ("\u663e\u5361RX 7900 XTX\u5728", "\u663e\u5361 RX 7900 XTX \u5728"),
        ("\u30abgfx1100\uff0c", "\u30ab gfx1100 \uff0c"),
        ("\u3001a \uff01b \uff1ac", "\u3001 a \uff01 b \uff1a c"),
    ],
)
def test_signs_of_web_pages_and_of_scripts_without_blanks(written: str, read: str) -> None:
    assert clean(written).lines == [read]
    assert clean(f"first\n{written}\nlast").lines == ["first", read, "last"]
