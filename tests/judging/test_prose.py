"""What rests on the words of people alone is milder, and stands only where they tell of trouble of the machine."""

from __future__ import annotations

import pytest

from rocdoctor.judging.prose import weighed
from rocdoctor.model.facts import Machine, Message, Told
from rocdoctor.model.finding import Evidence, Finding, Verdict
from rocdoctor.model.subject import MACHINE
from tests.text_kit import diagnosed

_TOLD = Evidence("the PC reboots", "text", 1, kind="said-power-cut")
_PRINTED = Evidence("NVRM: Xid 79", "text", 2, kind="nv-xid")
_TROUBLE = Message("told-trouble", 1, "The PC reboots.", narrated=True)
_SOUND = Message("told-sound", 1, "The GPU trains.", narrated=True)


def _weighed(*evidence: Evidence, messages: tuple[Message, ...] = (), alone: bool = True, open_: bool = False) -> str:
    """The severity that is left; "" where the finding was held back."""
    machine = Machine(messages=messages, told=Told(sentences=("The PC reboots.",), alone=alone))
    found = Finding("error", "It may be.", evidence, cause="thermal-or-power-limit", undecided=open_)
    left = weighed(machine, Verdict("a-check", MACHINE, "fail", found))
    assert (left.finding is None) == (left.state == "not-applicable") == bool(left.why)
    return left.finding.severity if left.finding is not None else ""


def test_words_alone_are_a_warning_where_trouble_is_told() -> None:
    assert _weighed(_TOLD, messages=(_TROUBLE,)) == "warning"


def test_words_alone_are_nothing_where_no_trouble_is_told() -> None:
    assert _weighed(_TOLD) == ""
    assert _weighed(_TOLD, messages=(_SOUND,)) == ""


def test_beside_the_output_of_a_program_words_are_a_warning() -> None:
    assert _weighed(_TOLD, alone=False) == "warning"


def test_what_a_program_prints_keeps_its_severity() -> None:
    assert _weighed(_PRINTED) == "error"
    assert _weighed(_TOLD, _PRINTED) == "error"
    assert _weighed() == "error"
    assert _weighed(Evidence("off", "run nvidia-smi", 1)) == "error"


def test_likeness_is_held_back_where_the_machine_is_said_to_work() -> None:
    word = Evidence("docker", "text", 1)
    assert _weighed(word, open_=True) == "warning"
    assert _weighed(word, messages=(_SOUND,), open_=True) == ""
    assert _weighed(word, messages=(_SOUND, _TROUBLE), open_=True) == "warning"


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("My workstation reboots whenever I train on the RTX 3090. The log is empty.", "warning"),
        ("My workstation rebooted during a thunderstorm. The RTX 3090 trains well. Is a UPS worth it?", None),
        ("My workstation hangs.\n\n[  412.1] NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.", "error"),
    ],
    ids=["told", "sound", "printed"],
)
def test_whole_texts(text: str, severity: str | None) -> None:
    assert diagnosed(text).worst == severity


def test_only_sentences_are_words_alone() -> None:
    told = {
        "The GPU works well on my desk. Thanks a lot!": True,
        "Hello all,\n\nthe GPU is not found when I start\nthe program.\n\nThanks!": True,
        "The GPU is not found when I start it.\n\n    Torch is not able to use GPU": False,
        "The GPU is not found when I start it.\n\nOS: Ubuntu 24.04": False,
        "The GPU is not found when I start it.\n```\nx = 1\n```": False,
    }
    assert {text: diagnosed(text).machine.told.alone for text in told} == told


_DENIED = (
    "Torch did not see my RX 7900 XTX.\n```\n$ rocminfo\nROCk module is loaded\n"
    "Unable to open /dev/kfd read-write: Permission denied\n"
    'mia is not member of "render" group, the default DRM access group.\n```\n'
)


@pytest.mark.parametrize(
    ("end", "cause"),
    [
        ("", "device-permission"),
        ("Fixed it by adding myself to the render group. Thanks!\n", None),
        ("Fixed it by adding myself to the render group. But it still fails.\n", "device-permission"),
        ("Fixed it by unsetting the variable HIP_VISIBLE_DEVICES\n", None),
        ("Solved by the render group; thanks.\n", None),
        ("The group was missing. Solved.\n", None),
        ("Resolved. A script had taken me out of the group.\n", None),
        ("Resolved. It came back after the next boot.\n", "device-permission"),
        ("Not solved by the render group.\n", "device-permission"),
        ("A colleague fixed it by adding himself to the render group.\n", "device-permission"),
        ("What fixed it by the way on your side?\n", "device-permission"),
        (f"The first problem I had: fixed it by a reboot.\n{_DENIED}", "device-permission"),
    ],
)
def test_facts_of_a_text_whose_writer_says_that_all_is_over(end: str, cause: str | None) -> None:
    """What rocminfo printed was blamed, though the post only tells others what helped."""
    found = diagnosed(_DENIED + end)
    assert (found.causes[0].cause if found.causes else None) == cause
    if end.startswith("Fixed") and cause is None:
        notes = [one.finding for one in found.verdicts if one.finding and one.finding.cause == "device-permission"]
        assert {one.severity for one in notes} == {"info"}
