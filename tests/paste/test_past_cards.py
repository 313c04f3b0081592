"""Cards that somebody had before, and those that are there. The sentences are constructed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.model.evidence import value_or
from rocdoctor.paste.past_cards import fate, fate_or_age
from tests.paste.test_text_facts import read
from tests.text_kit import first_cause


def names(text: str) -> list[str]:
    return sorted(value_or(gpu.name, "?").removeprefix("AMD Radeon ") for gpu in read(text).gpus)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I upgraded from an RX 5700 XT to an RX 7800 XT in May.", ["RX 7800 XT"]),
        ("Replaced the RTX 3080 with an RX 7800 XT yesterday, now torch finds nothing.", ["RX 7800 XT"]),
        ("Swapped my old RX 5700 XT for an RX 6800. The RX 5700 XT ran well.", ["RX 6800"]),
        ("I sold my RTX 3090 and bought an RX 7900 XTX.", ["RX 7900 XTX"]),
        ("GPU upgrade: RX 6800 -> RX 7900 XTX", ["RX 7900 XTX"]),
        ("The old card was an RX 5700 XT, the new one is an RX 7900 XT", ["RX 7900 XT"]),
        ("my RX 6600 was replaced by an RX 7600 last week", ["RX 7600"]),
        ("Old GPU: RX 6600, new GPU: RX 7600", ["RX 7600"]),
        ("Previously I had an RX 5700 XT. Now an RX 6800 is in it and with gfx1010 gone ...", ["RX 6800"]),
        ("My old RX 5700 XT was fine. After the swap I put in a new RX 7600.", ["RX 7600"]),
    ],
)
def test_cards_that_were_sold_or_replaced_are_not_in_the_machine(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I have both an RX 6800 and an RX 7900 XTX.", ["RX 6800", "RX 7900 XTX"]),
        ("I added an RX 7900 XTX to the RX 6800.", ["RX 6800", "RX 7900 XTX"]),
        ("I upgraded ROCm from 6.1 to 6.2 on my RX 7900 XTX.", ["RX 7900 XTX"]),
        ("After I upgraded my RX 6800 to ROCm 6.2 it hangs.", ["RX 6800"]),
        ("I plan to upgrade from my RX 6700 XT to an RX 7900 XTX.", ["RX 6700 XT"]),
        ("I replaced the RX 6800's fans.", ["RX 6800"]),
        ("I swapped the RX 6800 and the RX 7900 XTX slots.", ["RX 6800", "RX 7900 XTX"]),
        ("Switched from the RX 6800 to the RX 7900 XTX with HIP_VISIBLE_DEVICES=1.", ["RX 6800", "RX 7900 XTX"]),
        ("My old RX 5700 XT does not work with ROCm 6.", ["RX 5700 XT"]),
        ("I want to get my RX 6800 working.", ["RX 6800"]),
        ("rocminfo returned an RX 6800.", ["RX 6800"]),
        ("We switched from my RX 6800 to CPU for now.", ["RX 6800"]),
    ],
)
def test_cards_that_stay(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The author says that he uses a GTX 1070 with 8 GB. My RX 6800 has 16 GB.", ["RX 6800"]),
        ("The paper used an A100, I have an RX 7900 XTX and it fails.", ["RX 7900 XTX"]),
        ("The readme recommends an RTX 3090. My RX 6800 fails.", ["RX 6800"]),
        ("The guide uses ROCm, and on the RX 6800 it fails.", ["RX 6800"]),
        ("The maintainer asked for it: I have an RX 6800.", ["RX 6800"]),
        ("The docs list the RX 6800 as supported, but rocminfo does not show it.", ["RX 6800"]),
        ("The author has an RX 6800, and my RX 6800 fails too.", ["RX 6800"]),
    ],
)
def test_the_card_of_an_author_is_not_in_this_machine(text: str, expected: list[str]) -> None:
    assert names(text) == expected


OVERRIDE = (
    "{words}\n\n```\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0\npython main.py\n```\n\n"
    "```\nAMD arch: gfx1030\nDevice: cuda:0 AMD Radeon RX 7900 XT : native\n"
    "Memory access fault by GPU node-1 (Agent handle: 0x5dd1) on address 0x7a2f4000. Reason: Page not present.\n```\n"
)


@pytest.mark.parametrize(
    "words",
    [
        "My old RX 6650 XT was replaced by an RX 7900 XT, the script is the old one.",
        "I traded in the RX 6650 XT for an RX 7900 XT.",
        "It crashes.",
    ],
)
def test_an_override_kept_from_the_card_before(words: str) -> None:
    assert first_cause(OVERRIDE.format(words=words)) == "hsa-override-wrong"


def test_an_override_for_two_cards_that_are_there() -> None:
    assert first_cause(OVERRIDE.format(words="I have an RX 6650 XT and an RX 7900 XT in it.")) == "mixed-gpu-archs"


@given(st.text(), st.text())
def test_any_words_never_raise(before: str, after: str) -> None:
    fate(before, after)
    fate_or_age(before, after)
