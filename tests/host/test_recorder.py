"""Masking happens before anybody sees an answer, and a record replays to the same answers."""

from __future__ import annotations

from rocdoctor.host.base import Answer
from rocdoctor.host.evidence.capture import Capture, CaptureHost, parse, write
from rocdoctor.host.masking.masker import Masker
from rocdoctor.host.recorder import MaskedHost, Recorder

TOKEN = "hf_" + "A" * 34


def _host(**answers: str | bytes) -> tuple[Recorder, MaskedHost]:
    named = {
        question.replace("__", " "): Answer(
            question.replace("__", " "), "ok", text.encode() if isinstance(text, str) else text
        )
        for question, text in answers.items()
    }
    masker = Masker()
    masker.learn(hostname="gpu-node-17", user="alice", home="/home/alice")
    masked = MaskedHost(CaptureHost(Capture({}, "", named), "test"), masker)
    return Recorder(masked), masked


def test_nothing_unmasked_reaches_the_record() -> None:
    recorder, _ = _host(
        env=f"HF_TOKEN={TOKEN}\nHSA_OVERRIDE_GFX_VERSION=11.0.0\nMY_NOTE=gpu-node-17",
        run__dmesg="gpu-node-17 kernel: hi",
    )
    assert recorder.ask("env").lines() == [
        "HF_TOKEN=<dropped>",
        "HSA_OVERRIDE_GFX_VERSION=11.0.0",
        "MY_NOTE=<dropped>",
    ] or (TOKEN not in recorder.ask("env").text and "HSA_OVERRIDE_GFX_VERSION=11.0.0" in recorder.ask("env").lines())
    assert "gpu-node-17" not in recorder.ask("run dmesg").text
    text = write(recorder.answers.values(), {"origin": "recorded"})
    assert TOKEN not in text
    assert "gpu-node-17" not in text


def test_people_in_a_group_file_are_masked_and_groups_and_services_stay() -> None:
    recorder, _ = _host(**{"read__/etc/group": "render:x:109:alice,bob.smith,ollama\nvideo:x:44:bob.smith"})
    text = recorder.ask("read /etc/group").text
    assert "alice" not in text
    assert "bob" not in text
    assert text.startswith("render:x:109:")
    assert "ollama" in text
    first, second = (line.split(":")[3] for line in text.splitlines())
    assert second in first.split(","), "the same person has one name in both lines"


def test_binary_data_is_dropped_unless_it_is_a_table_of_numbers() -> None:
    metrics = bytes(range(120))
    recorder, _ = _host(**{"read__/sys/x/gpu_metrics": metrics})
    assert recorder.ask("read /sys/x/gpu_metrics").data == metrics


def test_the_environment_of_another_process_is_masked_as_our_own() -> None:
    entries = b"OMP_NUM_THREADS=1\0HF_TOKEN=hf_abcdefgh\0UNLISTED=x\0NCCL_DEBUG=INFO"
    for data in (entries, entries.replace(b"\0", b"\n")):
        recorder, _ = _host(**{"read__/proc/job/environ": data})
        lines = recorder.ask("read /proc/job/environ").text.split("\n")
        assert lines == ["OMP_NUM_THREADS=1", "HF_TOKEN=<dropped>", "UNLISTED=<dropped>", "NCCL_DEBUG=INFO"]


def test_a_record_answers_the_same_again() -> None:
    recorder, masked = _host(env="HSA_OVERRIDE_GFX_VERSION=11.0.0", run__dmesg="[ 1.0] alice was here")
    first = [recorder.ask("env"), recorder.ask("run dmesg")]
    replay = CaptureHost(parse(write(recorder.answers.values(), {}).encode()), "x")
    assert [replay.ask(one.question).text for one in first] == [one.text for one in first]
    assert masked.ask("env") == first[0], "an answer is masked once and kept"


def test_an_equal_answer_is_masked_as_it_was_and_another_one_anew() -> None:
    told = {"run dmesg": "alice was here", "env": "A=1"}

    class Told(CaptureHost):
        def ask(self, question: str) -> Answer:
            return Answer(question, "ok", told[question].encode(), seconds=len(asked))

    asked: list[str] = []
    masker = Masker()
    masker.learn(hostname="gpu-node-17", user="alice", home="/home/alice")
    before = MaskedHost(Told(Capture({}, "", {}), "test"), masker)
    first = before.ask("run dmesg")
    asked.append("once")
    told["env"] = "B=2"
    again = MaskedHost(before.inner, masker, before)
    assert again.ask("run dmesg") is first, "the same but for the time that it took"
    told["run dmesg"] = "alice left"
    assert MaskedHost(before.inner, masker, again).ask("run dmesg").text == "<user> left".replace(
        "<user>", _user(first)
    )


def _user(masked: Answer) -> str:
    """What stands for the user."""
    name = masked.text.split()[0]
    assert name != "alice"
    return name


class _Taught(Masker):
    """A masker that another thread teaches a name while it masks."""

    def mask_text(self, text: str, question: str = "") -> str:
        made = super().mask_text(text, question)
        if "kestrel" in text:
            self.learn(user="kestrel")
        return made


def test_what_another_thread_taught_meanwhile_is_masked_when_it_is_settled() -> None:
    told = Answer("read /etc/motd", "ok", b"kestrel is away")
    masked = MaskedHost(CaptureHost(Capture({}, "", {told.question: told}), "test"), _Taught())
    assert masked.ask(told.question).text == "kestrel is away"
    assert "kestrel" not in masked.settled(told.question).text
