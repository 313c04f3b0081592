"""GPUs that AMD says ROCm does not support, in pasted texts. The texts are constructed."""

from __future__ import annotations

import pytest

from rocdoctor.knowledge.lookup import rocm_without
from rocdoctor.model.facts import TorchBuild
from tests.kit import amd_gpu, judge, k, states
from tests.message_kit import pasted
from tests.text_kit import diagnosed

NAME = "gpu-left-by-rocm"


def said_of(text: str) -> list[str]:
    return [one.message for one in diagnosed(text).causes if one.check == NAME]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "clinfo does not work on my RX 580 with ROCm 5.6.\n",
            "dropped RX 580 (gfx803) with ROCm 4.0, and this is ROCm 5.6",
        ),
        ("My only card is an RX 480, gfx803. With ROCm 4.0:\nprob: a clGetDeviceIDs -1\n", "dropped"),
        ("I have tried to get my R9 390 running for weeks with ROCm 6.2.\n", "gfx701"),
        ("rocminfo freezes my laptop. It has the Vega 8 of a Ryzen 5 3500U.\nIt crashes with ROCm.\n", "APU"),
    ],
)
def test_a_gpu_that_amd_left_and_something_that_fails(text: str, words: str) -> None:
    (message,) = said_of(text)
    assert words in message


@pytest.mark.parametrize(
    "text",
    [
        # the release still knew the card, or none is named
        "clinfo does not work on my RX 580 with ROCm 3.5.1.\n",
        "clinfo of ROCm does not work on my RX 580.\n",
        # cards that are supported
        "rocminfo does not work on my RX 7900 XTX with ROCm 6.2.\n",
        "clinfo does not work with ROCm 5.6. There are an RX 580 and an RX 6800 XT in the machine.\n",
        # nothing fails
        "My RX 580 runs with ROCm 5.6 and the rebuilt libraries.\n",
        "Which devices does ROCm 6 support? I have an RX 580 and can't find the list.\n",
        "Our docs said the RX 480 fails with ROCm 5. On one with a patched ROCm 5.4 all tests pass.\n",
        # another program
        "The game does not work on my RX 580.\n",
    ],
)
def test_what_accuses_nobody(text: str) -> None:
    assert said_of(text) == []


def test_it_is_only_possible() -> None:
    (cause,) = diagnosed("clinfo does not work on my RX 580 with ROCm 5.6.\n").causes[:1]
    assert (cause.cause, cause.confidence, cause.severity) == ("gpu-not-supported", "possible", "warning")


def test_a_torch_that_works_and_unknown_targets_are_left_alone() -> None:
    text = "rocminfo of ROCm 6.2 fails.\n"
    torch = TorchBuild(
        version=k("2.6.0+rocm6.2.4"), hip=k("6.2.4"), cuda=k(None), import_error=k(None), device_count=k(1)
    )
    old = amd_gpu(gfx="gfx803")
    assert states(judge(NAME, pasted(text, old, torch=TorchBuild(hip=k("6.2.4"))))) == ["fail"]
    assert states(judge(NAME, pasted(text, old, torch=torch))) == ["not-applicable"]
    assert states(judge(NAME, pasted(text))) == ["not-applicable"]


def test_the_table_names_only_what_was_read() -> None:
    assert [rocm_without(one) for one in ("gfx803", "gfx90c", "gfx906", "gfx1031")] == ["4.0", "0", None, None]
