"""States that a writer tells of in a sentence or two, each beside the sound texts that come nearest to it."""

from __future__ import annotations

import pytest

from rocdoctor.collect import collect
from rocdoctor.knowledge.messages.told import OWN_TROUBLE, TROUBLE, told_kinds
from rocdoctor.paste import open_text
from tests.text_kit import diagnosed, first_cause

_WSL = "Could AMD GPUs be supported in WSL2 soon? ROCm runs, but WSL just won't detect the hardware.\n"
_SLOTS = "I have two Radeon cards, one in the x16 slot and one in the x8 slot. With ROCm clinfo {}.\n"
_OLD = "# LuxMark on an old board\n\nI test ROCm on a 990FX board with two Vega 56. LuxMark {}.\n"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "# GPU selection\n\nMy game always picks the weak AMD onboard graphics instead of the RTX.\n",
            "igpu-shadows-dgpu",
        ),
        ("The studio only lists the integrated GPU of my laptop and not the RX 7600.\n", "igpu-shadows-dgpu"),
        (
            "# Renders with the CPU\n\nThe renderer uses my CPU instead of the RTX 5090 on Windows 11.\n",
            "wrong-backend-build",
        ),
        (_WSL, "wsl-unsupported"),
        (_SLOTS.format("shows only the one in the x16 slot"), "pcie-atomics-missing"),
        (_OLD.format("shows a black picture and hangs"), "pcie-atomics-missing"),
        ("The ROCm driver complains about atomics, my RX 560 in the x4 slot does not run.\n", "pcie-atomics-missing"),
        (
            "# NVIDIA driver update\n\nOur program crashed in the OpenGL calls. The NVIDIA drivers had been updated.\n",
            "driver-library-mismatch",
        ),
        ("After systemctl daemon-reload our running containers lose their GPU.\n", "container-device-access"),
        ("The user inside the container cannot access the render node of the GPU.\n", "container-device-access"),
        (
            "# Service finds no GPU\n\nThe account of the service is in no group, it cannot open the GPU.\n",
            "device-permission",
        ),
        (
            "# RX 470 gone since 4.5\n\nSince ROCm 4.5 clinfo shows no device for my RX 470. With 4.3.1 it worked.\n",
            "gpu-not-supported",
        ),
        (
            "# ROCm packages leave the link\n\nThe packages leave the /opt/rocm symlink on the old one. "
            "With ROCm everything is broken after the upgrade.\n",
            "mixed-rocm-installs",
        ),
        ("My eGPU is not detected. I use an adapter from Thunderbolt 3 to 2.\n", "pcie-link-degraded"),
        ("# RX 470 without OpenCL\n\nMy RX 470 has no OpenCL any more with ROCm 4.5.\n", "gpu-not-supported"),
        (
            "I have two RX 570 and only the first one is detected with ROCm. Both drive a display.\n",
            "pcie-atomics-missing",
        ),
        (
            "My 7900 XT fails: the GPU is out of memory. Please add more options for AMD.\n",
            "out-of-memory",
        ),
    ],
)
def test_a_state_names_a_possible_cause(text: str, cause: str) -> None:
    found = diagnosed(text)
    assert found.causes and found.causes[0].cause == cause
    assert found.causes[0].confidence == "possible"


@pytest.mark.parametrize(
    "text",
    [
        "# GPU selection\n\nMy game can pick the onboard graphics instead of the RTX in its settings. Great!\n",
        "I use only the integrated graphics for my screens, so the RTX 3090 has all of its memory free.\n",
        "How do I make the game pick the integrated GPU instead of the card?\n",
        "# Renders with the GPU\n\nThe renderer uses my RTX 5090 and no longer the CPU. Thank you!\n",
        "If the user is not in the video group, rocminfo fails; ours is in it.\n",
        "We run on the CPU only, the GPU is not needed.\n",
        "I run the renderer on the CPU of the server by choice, the RTX 5090 is for games.\n",
        "Could AMD GPUs be supported in WSL2 soon? It would be great.\n",
        "In WSL2 ROCm finds my RX 7900 XTX and all samples run.\n",
        _SLOTS.format("shows both, and both are fast"),
        "Will two cards work, one in the x16 slot and one in the x8 slot, with ROCm?\n",
        _OLD.format("runs for hours and the picture is right"),
        "Which boards have PCIe atomics in all slots? I plan a machine with four GPUs.\n",
        "# NVIDIA driver update\n\nThe NVIDIA drivers had been updated over night, and our program runs as before.\n",
        "After systemctl daemon-reload our running containers still have their GPU.\n",
        "The user inside the container can access the render node, and the GPU transcodes.\n",
        "The account of the service is in the render group and finds the GPU.\n",
        "With ROCm 4.3.1 my RX 470 worked, and with 4.5 it works too.\n",
        "My eGPU runs well with an adapter from Thunderbolt 3 to 2.\n",
        "I have two RX 570 and both are detected with ROCm.\n",
        "Please add more options for AMD users with little GPU memory.\n",
        "My neighbour's PC only lists the integrated GPU? Is that possible?\n",
    ],
)
def test_the_nearest_sound_texts_have_no_cause(text: str) -> None:
    assert first_cause(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Is it possible to use AMD? I have an RX 6800 XT but the program recognises only the CPU.\n",
        "Please add official support for it. My RTX 3090 is not detected by the program, it runs on my CPU.\n",
    ],
)
def test_own_trouble_counts_beside_a_wish(text: str) -> None:
    assert first_cause(text) == "wrong-backend-build"


@pytest.mark.parametrize("text", ["Is it possible to use AMD?\n", "Please add official support for the RTX 3090.\n"])
def test_a_wish_alone_has_no_cause(text: str) -> None:
    assert first_cause(text) is None


def test_a_title_alone_is_not_believed() -> None:
    assert first_cause("# My game picks the integrated GPU instead of the card\n") is None
    assert (
        first_cause("# fix: the game picks the integrated GPU instead of the card\n\nThis change picks the card.\n")
        is None
    )


def test_a_title_counts_in_a_short_report_only() -> None:
    title = "# Runs on the CPU of my PC and not on the RTX 3090\n\n"
    line = "I press the button and wait for a while until the picture is there.\n\n"
    short, long = (collect(open_text(title + line * times, "test")).messages for times in (1, 9))
    assert "told-on-cpu" in {one.kind for one in short}
    assert "told-on-cpu" not in {one.kind for one in long}


def test_states_that_are_trouble_by_themselves_are_those_without_a_word_of_failure() -> None:
    by_itself = {one.kind for one in told_kinds() if one.trouble}
    assert by_itself and TROUBLE not in by_itself and OWN_TROUBLE not in by_itself
