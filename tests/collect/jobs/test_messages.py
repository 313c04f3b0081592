"""The messages of a pasted text as facts; other hosts have none."""

from __future__ import annotations

from rocdoctor.collect.jobs.messages import collect_messages
from rocdoctor.host.base import Answer
from rocdoctor.paste import open_text

TEXT = "It stopped:\n\nRuntimeError: CUDA error: uncorrectable ECC error encountered\n"


class _Folder:
    kind = "folder"

    def ask(self, question: str) -> Answer:
        raise AssertionError("a folder holds no text to be searched")


def test_a_text_gives_its_messages_with_their_lines() -> None:
    found = collect_messages(open_text(TEXT, "report.txt"))
    (one,) = (message for message in found if message.kind == "gpu-memory-error")
    assert (one.kind, one.line, one.role) == ("gpu-memory-error", 3, "now")
    assert one.values["what"] == "uncorrectable ECC error"


def test_an_empty_text_and_other_hosts_give_none() -> None:
    assert collect_messages(open_text("", "-")) == ()
    assert collect_messages(_Folder()) == ()  # type: ignore[arg-type]
