"""Escape sequences of terminals hide nothing, and stay where nothing is hidden."""

from __future__ import annotations

import pytest

from rocdoctor.host.masking.escapes import without_escapes
from rocdoctor.host.masking.masker import Masker
from rocdoctor.model.printable import clean
from tests.host.masking.written import CHOSEN, USER

_HF = "hf_" + "q8ZrT5nYc2WvB7kXe4JmH9dLs3GpAbCdEf"


_ESCAPES = (
    *("\x1b[31m", "\x9b1;4m", "\x1b]0;title\x07", "\x1b(B", "\\033[1m", "\\e[0m", "^[[K"),
    # what is taken out where a report is printed, so that what stands around it is read together
    *("\x1bPq\x1b\\", "\x1b_x\x1b\\", "\x1b\x1b[m", f"\x1b[{'0' * 60}m", "\x07", "\u00ad", "\u202e", "\u2028"),
)


@pytest.mark.parametrize("escape", _ESCAPES)
def test_a_secret_or_a_name_is_found_whatever_stands_in_it(escape: str) -> None:
    for hidden, text in (
        (CHOSEN, f"password={CHOSEN}"),
        (CHOSEN, f"password: \n  {CHOSEN}"),
        (USER, f"/home/{USER}/x and {USER}"),
        (_HF, f"got {_HF} there"),
    ):
        at = text.rindex(hidden)
        for place in (3, at, at + 4):
            masked = Masker().mask_text(text[:place] + escape + text[place:])
            assert hidden not in without_escapes(masked), (text, place)
            assert hidden not in clean(masked), (text, place)
            assert hidden[4:] not in masked, (text, place)
            assert Masker().mask_text(masked) == masked


def test_lines_that_hide_nothing_keep_their_colours() -> None:
    text = f"\x1b[32mOK\x1b[0m all\n\x1b[31mpassword\x1b[0m={CHOSEN}\nGPU \x1b[1m0\x1b[0m is 0000:03:00.0"
    shown = Masker().mask_text(text).split("\n")
    assert shown == ["\x1b[32mOK\x1b[0m all", "password=masked-value", "GPU \x1b[1m0\x1b[0m is 0000:03:00.0"]


def test_a_key_of_several_lines_becomes_one_word_in_colours_too() -> None:
    lines = ["-----BEGIN RSA PRIVATE KEY-----", "q8ZrT5nYc2WvB7kX" * 3, "-----END RSA PRIVATE KEY-----", "up"]
    text = "\n".join(f"\x1b[3{at}m{line}\x1b[0m" for at, line in enumerate(lines))
    assert Masker().mask_text(text) == "masked-private-key\nup"


def test_values_of_variables_are_seen_without_escapes() -> None:
    assert Masker().mask_env({"PYTHONPATH": f"/ho\x1b[1mme/{USER}/x"}) == {"PYTHONPATH": "/home/user-1/x"}


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(
    "glued",
    [r"\u003d", r"\u003C", r"\u002f", r"\x2f", r"\057", r"\040", r"\n", r"\t", r"\r", "%2F", "%3d", "=3D", "=2F"],
)
def test_a_known_name_behind_an_escape_of_another_sign_is_masked(glued: str, many: bool) -> None:
    """As JSON, Python, URLs and mail write a sign that stands before it: no letter of the name."""
    others = "".join(f"USER=worker{number:03}q\n" for number in range(100)) if many else ""
    masker = Masker()
    masked = masker.mask_text(f"{others}USER=alicekrause\nfailed at {glued}alicekrause{glued}x")
    assert "alicekrause" not in masked and masked.endswith(f"{glued}x"), masked
    kept = "USER=alicekrause\nmalicekrause xalicekrause 2falicekrause"
    assert Masker().mask_text(kept).endswith("malicekrause xalicekrause 2falicekrause")
