"""NVIDIA drivers beside kernels that they do not build for, in pasted texts. The texts are constructed."""

from __future__ import annotations

import pytest

from rocdoctor.model.facts import Kernel
from tests.kit import judge, k, nvidia_gpu, states
from tests.message_kit import pasted
from tests.text_kit import diagnosed

NAME = "nvidia-driver-unlike-kernel"


def said_of(text: str) -> list[str]:
    return [one.message for one in diagnosed(text).causes if one.check == NAME]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "NVIDIA driver 470.256.02 on Ubuntu 24.04 with kernel 6.14: after apt upgrade nvidia-smi has no driver.\n",
            "470.256.02 does not build for Linux 6.10 and newer",
        ),
        ("I use driver 390.157 and since the kernel went to 6.8 X does not start with it.\n", "Linux 6.2 and newer"),
        ("nvidia driver 340.108 on Debian with kernel 6.1: no driver is loaded.\n", "Linux 5.7 and newer"),
        ("Driver 550.163.01, with kernel 6.19 the module does not build.\n", "Linux 6.19 and newer"),
    ],
)
def test_a_driver_that_is_older_than_the_kernel(text: str, words: str) -> None:
    (message,) = said_of(text)
    assert words in message


@pytest.mark.parametrize(
    "text",
    [
        # both are named and fit, or no row names the driver
        "NVIDIA driver 470.256.02 on kernel 6.9: the module does not build.\n",
        "Driver 550.163.01, with kernel 6.18 the module does not build.\n",
        "NVIDIA driver 580.95.05 on kernel 6.19: the module does not build.\n",
        # it is there, or another thing fails
        "Driver 470.256.02 with kernel 6.14, nvidia-smi works. My game crashes with a segfault.\n",
        "I run 470.256.02 with kernel 6.14 and the patches of the AUR package. Firefox crashes at start.\n",
        "NVIDIA driver 470.256.02 and kernel 6.14.\n",
        # asked, over, or told of others
        "Can I use driver 390.157 with kernel 6.8? My GTX 560 needs it.\n",
        "With kernel 6.14 the driver 470.256.02 did not build. I went back to kernel 6.8 and it works again.\n",
        "# Changelog\n\n- driver 470.256.02: the module does not build on kernel 6.14, fixed by a patch\n",
        "I want a package of driver 470.256.02 that builds on kernel 6.14, please add one.\n",
        # a kernel with parts of newer ones
        "NVIDIA driver 340.108 with kernel 5.14.0-427.el9.x86_64: the module does not build.\n",
        # two kernels or drivers are named: one that fits is here
        "The maintainers say that driver 470.256.02 does not build on kernel 6.14. My machine has kernel 6.8 and "
        "driver 470.256.02, and X does not start.\n",
        "I compared kernel 6.14 with driver 470.256.02 and kernel 5.15 with driver 535.183.01. On the second one "
        "nvidia-smi fails.\n",
        "The forum says that the module does not build for 470.256.02 on kernel 6.14.\n",
    ],
)
def test_what_accuses_nobody(text: str) -> None:
    assert said_of(text) == []


def test_it_is_only_possible_and_names_both_values() -> None:
    text = "NVIDIA driver 470.256.02 with kernel 6.14: the module does not build.\n"
    (cause,) = [one for one in diagnosed(text).causes if one.check == NAME]
    assert (cause.cause, cause.confidence, cause.severity) == ("dkms-kernel-mismatch", "possible", "warning")


def test_a_bound_driver_and_an_unknown_kernel() -> None:
    text = "the module does not build\n"
    drivers = {"nvidia": {"version": k("470.256.02")}}
    kernel = Kernel(release=k("6.14.0-37-generic"))
    (verdict,) = judge(NAME, pasted(text, drivers=drivers, kernel=kernel))
    assert verdict.finding is not None
    assert [one.value for one in verdict.finding.evidence][1:] == ["470.256.02", "6.14.0-37-generic"]
    assert states(judge(NAME, pasted(text, drivers=drivers, kernel=Kernel()))) == ["unknown"]
    assert states(judge(NAME, pasted(text, nvidia_gpu(driver="nvidia"), drivers=drivers, kernel=kernel))) == [
        "not-applicable"
    ]
    assert states(judge(NAME, pasted(text, kernel=kernel))) == ["not-applicable"]
    assert states(judge(NAME, pasted("nothing is said\n", drivers=drivers, kernel=kernel))) == ["not-applicable"]
