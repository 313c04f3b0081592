"""Which lines are sentences of the writer."""

from __future__ import annotations

import json

import pytest

from rocdoctor.paste import open_text


def _sentences(text: str) -> list[str]:
    host = open_text(text, "test")
    return [json.loads(line)["text"] for line in host.ask("sentences").text.splitlines()]


def test_sentences_of_the_writer_and_nothing_else() -> None:
    text = (
        "I cannot train on both cards since May.\n\n```\n[ 12.345678] amdgpu 0000:03:00.0: ring timeout\n"
        "we are not in a sentence here, but in a block\n```\n"
        "INFO 03-04 10:00:30 worker.py:266] the current instance can use all of the memory\n"
        "kernel: the module is not there\n"
        "The first card alone works for hours.\n"
    )
    assert _sentences(text) == [
        "I cannot train on both cards since May.",
        "The first card alone works for hours.",
    ]


def test_replies_and_quotations_are_not_the_writers() -> None:
    text = "I have the same trouble with my card here.\n> it is because of your slot, I think\n"
    assert _sentences(text) == ["I have the same trouble with my card here."]


@pytest.mark.parametrize(
    "line",
    [
        "-- Looking for pthread_create in pthreads - not found",
        "node01:48213:48301 [0] NCCL INFO NVLS multicast support is available on dev 0",
        "Nov 12 04:01:13 box sshd[41001]: Failed password for an invalid user of the host",
        "checking for references to the build folder in the store",
        "too short here",
    ],
)
def test_lines_of_programs_are_no_sentences(line: str) -> None:
    assert _sentences(line + "\n") == []


def test_of_a_long_text_the_beginning_and_the_end_are_looked_at() -> None:
    text = "I start with what I want to know.\n" + "step 1 loss 0.1\n" * 3000 + "It is always the same for us.\n"
    assert _sentences(text) == ["I start with what I want to know.", "It is always the same for us."]
