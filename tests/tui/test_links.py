"""Long words go on below their own beginning, and addresses are links that a terminal can open."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text

from rocdoctor.tui.config import light_background
from rocdoctor.tui.draw.lines import hung
from rocdoctor.tui.draw.links import address_in, linked, linked_lines
from rocdoctor.tui.page import waiting_words

_URL = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html"


def _links(line: Text) -> set[str]:
    return {one.style.link for one in line.spans if isinstance(one.style, Style) and one.style.link}


def test_a_long_address_is_broken_below_its_beginning_and_each_part_leads_to_the_whole() -> None:
    lines = linked_lines(f"{_URL} (set up)", 58, "  ", "    ")
    assert all(line.cell_len <= 58 for line in lines) and all(line.plain.startswith("    ") for line in lines[1:])
    assert "".join(line.plain.strip() for line in lines).startswith(_URL)
    assert [_links(line) for line in lines] == [{_URL}, {_URL}]
    assert _links(linked_lines("no address here", 58)[0]) == set()


def test_addresses_within_a_text_are_links() -> None:
    text = linked(Text(f"See {_URL}, or (http://b.example/c).\n  ftp://d.example https://\x1b]8"))
    found = {text.plain[one.start : one.end]: one.style for one in text.spans}
    assert {*found} == {_URL, "http://b.example/c"}
    assert all(isinstance(style, Style) and style.link == words for words, style in found.items())


def test_an_address_ends_where_the_sentence_goes_on() -> None:
    assert address_in("(https://a.example/b_(c).)") == "https://a.example/b_(c"  # a rare one; never more than was said
    assert address_in("https://a.example/b,") == "https://a.example/b"
    for word in ("http", "file:///etc/passwd", "https://", "https://a\x07b", "javascript://x"):
        assert address_in(word) == "", word


def test_lines_go_on_behind_their_own_indentation() -> None:
    assert hung("short\n    pip install torch torchvision torchaudio", 24) == [
        "short",
        "    pip install",
        "      torch torchvision",
        "      torchaudio",
    ]
    assert all(len(one) <= 10 for one in hung("x" * 95 + "\n" + " " * 30 + "y", 10))


def test_who_is_waited_for_is_named_with_the_time() -> None:
    assert waiting_words(("run rocminfo", "run amd-smi static"), 3.2) == "waiting 3 s for rocminfo, amd-smi static"
    assert waiting_words(("run rocminfo",), 0.2) == "waiting for rocminfo"


def test_a_white_terminal_is_known_by_what_it_says() -> None:
    assert [light_background(one) for one in ("0;15", "0;default;15", "15;0", "", "7", "0;7")] == [
        True,
        True,
        False,
        False,
        True,
        True,
    ]
