"""What the writer of a text tells in words."""

from __future__ import annotations

from rocdoctor.insight.texts.likeness import answer_for
from rocdoctor.insight.texts.statements import told_causes
from rocdoctor.judging.check import error, warning
from rocdoctor.judging.diagnose import diagnose, rank
from rocdoctor.knowledge.messages.told import told_kinds
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.finding import Cause, Verdict
from rocdoctor.model.subject import MACHINE
from tests.kit import amd_gpu, judge, k, machine, states
from tests.text_kit import TEXTS, all_checks, diagnosed

_ROOT = Message("told-works-as-root", 2, "As root torch sees the card.", narrated=True)
_POWER = Message("told-one-card-works-power", 3, "With one card the PC holds, with two it reboots.", narrated=True)
_SOUND = (
    "dcgmi reports 0 uncorrectable errors and 0 retired pages on the A100. My notebook crashes when I paste a "
    "large table.",
    "The A6000 sits on a riser and loads models as fast as before. The RGB software crashes all the time, any tips?",
    "In the terminal and as a service it finds the GPU. The mail that systemd should send is missing.",
    "Failed to initialize NVML was yesterday, after the reboot nvidia-smi works. Today only my printer fails.",
    "In WSL the RTX 4070 trains well. Windows Terminal crashes when I resize it.",
    "We run the same container on both machines and get the same accuracy. Only the log viewer crashes on one of them.",
    "The riser is 20 cm and Gen4. GPU bandwidth is 25 GB/s as in the slot. The vertical bracket broke when I "
    "moved house.",
    "Directly in the slot and on the riser the A4000 gives the same numbers. I hate how the riser looks, is "
    "there a white one?",
    "I can read the logs only as root, as my user it is denied. The GPU itself is found by torch for all of us.",
    "Ollama as a service answers quickly on the GPU. The backup service fails, by hand it works.",
    "The cron job that mails GPU statistics fails, in the terminal it works: cron has no PATH. How do you set it?",
    "At the desk the window manager is fast, over ssh -X it is slow. CUDA jobs don't care.",
    "In Docker our frontend fails to reach the API, on the host it works. The model server with the GPU is "
    "fine in both.",
    "Inside the pod the GPU is there and trains. kubectl logs is slow because the cluster is far away.",
    "/dev/shm is 16 GB in the image and training works. Slack notifications from the container fail.",
    "With two nodes the loss is the same as with one. The wandb page is slow with two runs open.",
    "The VPN is slow. Stopping it makes my downloads fast again. Training over two nodes uses ib0 and is fine.",
)


def _machine(*messages: Message) -> Machine:
    return machine(amd_gpu(gfx=k("gfx1100")), gpus_complete=False, messages=messages)


def _causes(text: str) -> list[Cause]:
    return list(diagnosed(text).causes)


def _verdicts(text: str) -> tuple[Verdict, ...]:
    return diagnosed(text).verdicts


def _lines(name: str) -> list[str]:
    return (TEXTS / "told" / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def _blamed(text: str) -> list[Cause]:
    return [one for one in diagnosed(text).causes if one.cause != "not-environment"]


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


def test_it_is_never_more_than_a_warning_and_says_may() -> None:
    for kind in told_kinds():
        for verdict in judge("told-in-words", _machine(Message(kind.kind, 1, "told", narrated=True))):
            if verdict.finding is None:  # a sign for other rows, or one that needs to know the GPU
                assert all(one.when.gfx for one in kind.answers), kind.kind
                continue
            assert verdict.finding.severity == "warning", kind.kind
            assert " may " in verdict.finding.message, kind.kind


def test_the_way_out_is_that_of_the_cause() -> None:
    (verdict,) = judge("told-in-words", _machine(_ROOT))
    general = answer_for(_machine(_ROOT), "device-permission")
    assert verdict.finding is not None and verdict.finding.fix is not None and general is not None
    assert (verdict.finding.fix.text, verdict.finding.fix.verify) == (general.answer.fix, general.answer.verify)
    assert "told-in-words" not in verdict.finding.fix.verify


def test_no_check_crashes_on_a_comparison() -> None:
    verdicts = diagnose(_machine(_ROOT), all_checks()).verdicts
    assert [(one.check, one.why) for one in verdicts if one.state == "crashed"] == []


def test_each_cause_is_said_once_and_wishes_say_nothing() -> None:
    again = Message("told-works-at-the-screen-only", 4, "At the desk it works.", narrated=True)
    causes = [one.answer.cause for one in told_causes(_machine(_ROOT, again, _POWER))]
    assert sorted(causes) == ["device-permission", "thermal-or-power-limit"]
    assert len(told_causes(_machine(_ROOT, Message("sign-of-code", 5, "TypeError")))) == 1, "a comparison stands"
    assert told_causes(_machine(_ROOT, Message("sign-of-wish", 5, "please support"))) == ()


def test_nothing_told_nothing_said() -> None:
    assert states(judge("told-in-words", _machine())) == ["not-applicable"]


def test_a_comparison_goes_before_another_possible_cause() -> None:
    """Though its severity is lower and its rank is too."""
    compared = warning("compared", cause="device-permission", confidence="possible", decides=True)
    other = error("said", cause="gpu-firmware", confidence="possible")
    for sure in (error("read", cause="out-of-memory"), warning("read", cause="out-of-memory", confidence="likely")):
        given = [Verdict(str(at), MACHINE, "fail", one) for at, one in enumerate((other, compared, sure))]
        ranked = [one.cause for one in rank(given)]
        assert ranked.index("device-permission") > ranked.index("out-of-memory")
    assert [one.cause for one in rank(given[:2])] == ["device-permission", "gpu-firmware"]


def test_whole_texts() -> None:
    told = {
        "My card works as root. As my user torch finds no GPU.": "device-permission",
        "On the host ollama uses the card, in the LXC it falls back to the CPU.": "container-device-access",
        "I put a second card in. When both train the PC reboots, one card alone is fine. The PSU has 750 W.": (
            "thermal-or-power-limit"
        ),
        "With the previous kernel my card is found, since the kernel upgrade not.": "dkms-kernel-mismatch",
        "In the dock my eGPU loads a model slowly, directly in the slot of a PC it is fast.": ("pcie-link-degraded"),
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


def test_a_sound_machine_beside_another_trouble() -> None:
    """No check blames any of them (more in tests/texts/healthy, told-*); a matter of the own code may be named."""
    lines, still = _lines("sound"), set(_lines("blamed_still"))
    assert len(lines) >= 180
    texts = [text for text in (*_SOUND, *lines) if text not in still]
    assert [(text, one.check, one.message) for text in texts for one in _blamed(text)] == []


def test_sound_machines_that_are_blamed_still_are_warned_of_only() -> None:
    """Known to be wrong: trouble of something without a known name, or "0 errors", is taken for the machine's."""
    for text in _lines("blamed_still"):
        found = _blamed(text)
        assert {(one.severity, one.confidence) for one in found} == {("warning", "possible")}, text
        assert "told-in-words" not in {one.check for one in found}, text


def test_words_of_relief_on_one_side_are_not_the_end_of_a_report() -> None:
    told = (
        "With the old kernel everything works, with the new kernel rocminfo finds no GPU.",
        "As root everything works, as my user rocm-smi says permission denied on the GPU.",
        "On the host all good, in the container the GPU is not found by torch.",
        "The PC reboots when both GPUs train. With -pl 250 on both it works now. What can I do about it?",
        "Over two GPUs all_reduce hangs. With NCCL_P2P_DISABLE=1 it works now. Thanks for the help in advance",
        "My card crashes under load on the riser. Directly in the slot it is stable, everything is fine there.",
        "As my user torch finds no GPU, with sudo it finds the card. I bisected it to the last update.",
    )
    silenced = [
        text for text in told if not any(one.check == "told-in-words" and one.finding for one in _verdicts(text))
    ]
    assert silenced == []


def test_a_question_at_the_end_does_not_silence_a_report() -> None:
    for asked in ("Is this normal?", "Is that expected?", "I just want to know why.", "It is in the unit tests too."):
        text = f"I get permission denied on /dev/kfd as my user, with sudo the GPU is found. {asked}"
        assert [one.cause for one in _causes(text)] == ["device-permission"], text
