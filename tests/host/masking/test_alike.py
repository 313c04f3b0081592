"""Lines that differ in their digits alone are masked by one of them; what they become is the same, at less cost."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest

from rocdoctor.host.masking import masker as masking
from rocdoctor.host.masking.alike import KnownShapes
from rocdoctor.host.masking.masker import Masker
from tests.host.masking import written

# Pseudonyms follow the order in which names are met.
_NUMBER = re.compile(r"\b(user|host|domain|email|ip|serial|uuid|ssid|wwn|masked)-[\w.-]+|[0-9a-f]{8}-5eed[0-9a-f-]+")
# An id that is pure digits, a code, a token whose format holds a digit: what the digits are decides.
_DIGITS_DECIDE = (
    ("webhook: https://h/hooks/x0000000", "webhook: https://h/hooks/x7391846"),
    ("serial: 000000000000", "serial: 692244001122"),
    ("peer 0.0.0.0 up", "peer 10.23.4.5 up"),
    ("addr 00:00:00:00:00:00", "addr 3c:12:34:56:78:90"),
    ("krb0_realm = KOWALSCY.PL", "krb5_realm = KOWALSCY.PL"),
    (
        "refresh 0//0gAbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGhIj-KlMnOp",
        "refresh 1//0gAbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGhIj-KlMnOp",
    ),
)


def _digits(text: str, chosen: random.Random) -> str:
    return "".join(str(chosen.randrange(10)) if "0" <= one <= "9" else one for one in text)


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Masks a text whose lines are all looked at."""

    def mask(text: str) -> str:
        with monkeypatch.context() as patch:
            patch.setattr(masking, "_MANY_LINES", 10**9)
            return Masker().mask_text(text)

    return mask


@pytest.mark.parametrize(("dull", "telling"), _DIGITS_DECIDE)
def test_a_line_whose_digits_tell_is_not_judged_by_another(
    dull: str, telling: str, one_by_one: Callable[[str], str]
) -> None:
    text = "\n".join(
        [dull] * 5 + [f"{dull} {number}" for number in range(400)] + [f"{telling} {n}" for n in range(400)]
    )
    assert telling not in one_by_one(text)
    assert telling not in Masker().mask_text(text)


def test_controls_with_any_digits_become_what_they_become_alone(one_by_one: Callable[[str], str]) -> None:
    chosen = random.Random(7)
    forms = chosen.sample(written.sections("controls")["lines"], 250)
    lines = [_digits(form, chosen) for form in forms for _ in range(6)]
    chosen.shuffle(lines)
    text = "\n".join(lines)
    both = (Masker().mask_text(text).split("\n"), one_by_one(text).split("\n"))
    assert [pair for pair in zip(*both, strict=True) if _NUMBER.sub("", pair[0]) != _NUMBER.sub("", pair[1])] == []


def test_few_of_the_lines_of_a_log_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    plain = Masker.masked_lines

    def counted(self: Masker, fresh: list[str]) -> list[str]:
        nonlocal asked
        asked += len(fresh)
        return plain(self, fresh)

    monkeypatch.setattr(Masker, "masked_lines", counted)
    log = [
        f"[{n:5}.123456] amdgpu 0000:{n % 90:02}:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq={n}"
        for n in range(3000)
    ]
    told = [f"Nov 24 10:11:12 lynx-cn042 kernel: pcieport 0000:00:01.{n % 8}: AER: Corrected {n}" for n in range(3000)]
    masked = Masker().mask_text("\n".join([*log, *told]))
    assert "lynx" not in masked
    assert masked.split("\n")[:3000] == log
    assert asked < 300


def test_a_line_is_masked_in_a_text_of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "_MOST_LINES", 50)
    monkeypatch.setattr(masking, "_SLAB", 30)
    words = ["".join(chr(97 + (n // 26**k) % 26) for k in range(3)) for n in range(900)]
    text = "\n".join(["ssh tkowalsk@gw7.uni-x.de", *(f"{word} is up" for word in words), "and tkowalsk again"])
    lines = Masker().mask_text(text).split("\n")
    assert (lines[0], lines[-1]) == ("ssh email-1", "and tkowalsk again") or "tkowalsk" not in lines[0] + lines[-1]
    assert lines[1] == "aaa is up"
    assert [line for line in lines[1:-1] if not line.endswith(" is up")] == []


def test_what_is_known_of_shapes_is_bounded() -> None:
    known = KnownShapes(lambda lines: lines)
    lines = [f"word{'x' * (n // 9)} {n}" for n in range(90)]
    assert known.judge(lines, [True] * len(lines)) == [True] * len(lines)
    assert known.parted(lines) == ([], {})
