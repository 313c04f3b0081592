"""Numbers that are none of any machine: thousands of digits, digits that are no decimals, signs before zeros."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rocdoctor.collect import collect
from rocdoctor.host.evidence.capture import CaptureHost, parse
from rocdoctor.insight.software.env_values import complaint
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.knowledge.software.env_variables import env_variable
from rocdoctor.model.evidence import NOT_ASKED, Unknown
from rocdoctor.parsers.formats.text import whole_number
from rocdoctor.paste import open_text
from tests.kit import ROOT
from tests.text_kit import TEXTS, all_checks

FIXTURES = sorted((ROOT / "fixtures").glob("*.capture"))
WRITTEN = sorted(TEXTS.glob("*/*.txt"))
ODD = (b"9" * 5000, "\u00b2".encode(), b"9" * 400, b"+007")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        (" 12 ", 12),
        ("0" * 5000 + "7", 7),
        (str(2**63 - 1), 2**63 - 1),
        (str(2**63), None),
        ("9" * 5000, None),
        ("-1", None),
        ("+1", None),
        ("1_0", None),
        ("\u00b2", None),
        ("\u0663", None),
        ("", None),
        (None, None),
        ("0x10", None),
        ("1.0", None),
    ],
)
def test_a_whole_number_has_decimal_digits_and_a_limit(text: str | None, value: int | None) -> None:
    assert whole_number(text) == value


def test_the_limit_is_the_callers() -> None:
    assert whole_number("99999", 99_999) == 99_999
    assert whole_number("100000", 99_999) is None


def _with(data: bytes, place: int, odd: bytes) -> bytes:
    """The text with the number at a place of each line replaced."""
    lines = []
    for line in data.split(b"\n"):
        numbers = list(re.finditer(rb"\d+", line))
        at = numbers[place] if place < len(numbers) else None
        lines.append(line if at is None else line[: at.start()] + odd + line[at.end() :])
    return b"\n".join(lines)


@pytest.mark.parametrize("text", ["+007", "-010", "+0x1F", "\u0663"])
def test_a_number_of_the_environment_may_have_a_sign_and_zeros(text: str) -> None:
    entry = env_variable("OMP_NUM_THREADS")
    assert entry is not None
    complaint(entry, text)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_no_number_of_a_machine_breaks_collecting_or_a_check(path: Path) -> None:
    capture, checks = parse(path.read_bytes()), all_checks()
    turn = FIXTURES.index(path)
    for place in (0, 1 + turn % 4):
        odd = ODD[(turn + place) % len(ODD)] if place else ODD[0]
        answers = {name: replace(one, data=_with(one.data, place, odd)) for name, one in capture.answers.items()}
        machine = collect(CaptureHost(replace(capture, answers=answers), path.stem))
        crashed = [one for one in diagnose(machine, checks).verdicts if one.state == "crashed"]
        assert crashed == []


def test_no_number_of_a_text_breaks_reading() -> None:
    checks = all_checks()
    for turn, path in enumerate(WRITTEN[::6]):
        text = _with(path.read_bytes(), turn % 3, ODD[turn % len(ODD)]).decode("utf-8", errors="replace")
        crashed = [one for one in diagnose(collect(open_text(text, "text")), checks).verdicts if one.state == "crashed"]
        assert crashed == [], path


def test_the_owner_of_a_device_node_is_no_number_of_thousands_of_digits() -> None:
    long = "9" * 5000
    text = f"rocdoctor capture 1\n\n-- stat /dev/kfd --\nfile 0660 0 {long}\n-- space /dev/shm --\n{long} 1\n"
    machine = collect(CaptureHost(parse(text.encode()), "x"))
    assert [(node.path, node.gid) for node in machine.nodes] == [("/dev/kfd", NOT_ASKED)]
    assert isinstance(machine.memory.shm_bytes, Unknown)
