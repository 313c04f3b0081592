"""What the writer of a text tells in words."""

from __future__ import annotations

from rocdoctor.insight.texts.statements import told_causes
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.judging.loading import check_files, checks_folder, load_check
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.finding import Cause
from rocdoctor.paste import open_text
from rocdoctor.service.reading import judged
from tests.kit import amd_gpu, judge, k, machine, states

_ROOT = Message("told-works-as-root", 2, "As root torch sees the card.", narrated=True)
_POWER = Message("told-power-gives-in", 3, "The PC reboots.", narrated=True)
_CHECKS = tuple(load_check(path) for path in check_files(checks_folder()))


def _machine(*messages: Message) -> Machine:
    return machine(amd_gpu(gfx=k("gfx1100")), gpus_complete=False, messages=messages)


def _names(*names: str) -> list[Message]:
    return [Message(f"names-{one}", at, one, narrated=True) for at, one in enumerate(names, 1)]


def _causes(text: str) -> list[Cause]:
    return list(judged(open_text(text, "a text"), _CHECKS).causes)


def test_a_comparison_names_its_cause_as_possible() -> None:
    (verdict,) = judge("told-in-words", _machine(_ROOT))
    found = verdict.finding
    assert found is not None
    assert (found.cause, found.confidence, found.decides, found.undecided) == (
        "device-permission",
        "possible",
        True,
        False,
    )
    assert found.evidence[0].value == "As root torch sees the card."


def test_a_comparison_comes_before_descriptions() -> None:
    assert [one.applied.answer.cause for one in told_causes(_machine(_POWER, _ROOT))] == ["device-permission"]


def test_a_description_is_left_open() -> None:
    (verdict,) = judge("told-in-words", _machine(_POWER))
    assert verdict.finding is not None and verdict.finding.undecided and not verdict.finding.decides


def test_what_is_named_counts_together() -> None:
    assert told_causes(_machine(*_names("riser"))) == ()
    (one,) = told_causes(_machine(*_names("riser", "aer")))
    assert one.applied.answer.cause == "pcie-link-degraded"


def test_what_is_named_beside_a_description_puts_its_cause_first() -> None:
    both = (Message("told-weak-link", 1, "slow"), Message("told-card-is-defective", 2, "errors"))
    more = told_causes(_machine(*both, *_names("hardware-error")))
    assert [one.applied.answer.cause for one in more] == ["gpu-hardware-fault", "pcie-link-degraded"]


def test_what_speaks_against_the_machine_silences_descriptions() -> None:
    against = Message("sign-of-code", 5, "TypeError")
    assert told_causes(_machine(_POWER, against)) == ()
    assert told_causes(_machine(*_names("riser", "aer"), against)) == ()
    assert len(told_causes(_machine(_ROOT, against))) == 1, "a comparison stands"
    assert told_causes(_machine(_ROOT, Message("sign-of-wish", 5, "please support"))) == ()


def test_nothing_told_nothing_said() -> None:
    assert states(judge("told-in-words", _machine())) == ["not-applicable"]


def test_a_comparison_goes_before_another_possible_cause() -> None:
    """Permission ranks below firmware: only the comparison puts it first."""
    other = Message("told-firmware-lacks", 4, "firmware", narrated=True)
    assert diagnose(_machine(other, _ROOT), _CHECKS).causes[0].cause == "device-permission"


def test_whole_texts() -> None:
    told = {
        "My card works as root. As my user torch finds no GPU.": "device-permission",
        "On the host ollama uses the card, in the LXC it falls back to the CPU.": "container-device-access",
        "I put a second card in. When both train the PC reboots, one card alone is fine. The PSU has 750 W.": (
            "thermal-or-power-limit"
        ),
        "With the previous kernel my card is found, since the kernel upgrade not.": "dkms-kernel-mismatch",
        "My eGPU sits in a dock. Loading a model is slow there, directly in the slot of a PC it is fast.": (
            "pcie-link-degraded"
        ),
    }
    assert {text: next((one.cause for one in _causes(text)), "") for text in told} == told


def test_whole_texts_in_which_nobody_has_this_trouble() -> None:
    for text in (
        "If the container finds no GPU, you should pass --device=/dev/kfd. If it fails for users, join render.",
        "Maybe it works as root and fails as your user? Perhaps the PSU is too weak.",
        "Last year my PC rebooted with two cards until I had another power supply.",
        "Feature request: it would be great if the tool said that the card works as root only.",
        "Does it work as root and not as a user?",
    ):
        assert _causes(text) == [], text
