from __future__ import annotations

import pytest

from rocdoctor.paste.clean_text import clean
from rocdoctor.paste.speakers import is_sentence, replies


@pytest.mark.parametrize(
    ("line", "spoken"),
    [
        ("I have an RX 580 in my machine.", True),
        ("On a machine with an RX 7800 XT the training stops", True),
        ("# Training hangs on an RX 7900 XTX", True),
        ("Title: the card RX 580 is not found", True),
        ("GPU: RX 580", False),
        ("- **OS**: Ubuntu 24.04", False),
        ("export HSA_OVERRIDE_GFX_VERSION=10.3.0", False),
        ("$ docker run -e A_B=1 the image", False),
        ("[12.000001] amdgpu 0000:03:00.0: the device is lost", False),
        ("RX 580 8GB", False),
        ("| GPU | the RX 580 in it |", False),
    ],
)
def test_sentences(line: str, spoken: bool) -> None:
    assert is_sentence(clean(line), 0) is spoken


def test_code_is_no_sentence() -> None:
    assert not is_sentence(clean("```\nI have it on my machine\n```"), 1)


THREAD = """lena opened this issue on 4 May
first

rolf commented 2 days ago
second

lena commented yesterday
third

mona replied on 6 May
Author
fourth
"""


def test_replies_of_a_thread() -> None:
    cleaned = clean(THREAD)
    foreign = [cleaned.lines[at] for at in sorted(replies(cleaned))]
    assert [line for line in foreign if line in ("first", "second", "third", "fourth")] == ["second"]


def test_quotations_are_replies() -> None:
    assert replies(clean("text\n> quoted\nmore\n")) == {1}


def test_a_sentence_with_the_word_commented_is_no_heading() -> None:
    assert not replies(clean("first\n\nI commented it out\nand it works\n"))
