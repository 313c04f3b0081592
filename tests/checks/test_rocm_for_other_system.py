"""ROCm packages for another distribution release, in pasted texts. The texts are constructed."""

from __future__ import annotations

import pytest

from tests.text_kit import diagnosed

NAME = "rocm-for-other-system"


def said_of(text: str) -> list[str]:
    return [one.message for one in diagnosed(text).causes if one.check == NAME]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Ubuntu 25.10, tried amdgpu-install 6.2 for ROCm: it refuses.\n", "lists Ubuntu 22.04 and Ubuntu 24.04"),
        ("RHEL 7.9 and ROCm 6.3 packages: dependencies on glibc fail to resolve.\n", "lists RHEL 8 and RHEL 9"),
        (
            "Fedora 41 and amdgpu-install 6.2.60200: the packages cannot be installed.\n",
            "no release of this distribution",
        ),
        ("Debian 11, ROCm 7.1: apt says that libc6 is too old.\n", "lists Debian 12 and Debian 13"),
    ],
)
def test_packages_of_a_release_that_does_not_list_the_system(text: str, words: str) -> None:
    (message,) = said_of(text)
    assert words in message


@pytest.mark.parametrize(
    "text",
    [
        "Ubuntu 22.04 and ROCm 6.3: apt finds unmet dependencies.\n",
        "RHEL 9.4 and ROCm 6.3 packages: dependencies on perl fail to resolve.\n",
        "Rocky Linux 9.4 and ROCm 6.3: the packages cannot be installed.\n",
        "Ubuntu 25.10 with ROCm 6.4: apt finds unmet dependencies.\n",  # the list of 6.4 was not read
        "Ubuntu 25.10 with ROCm 6.2: my training crashes after an hour.\n",
        "On Fedora 41 I use ROCm 6.2 from amdgpu-install without trouble, but apt fails to install vim.\n",
        "Is ROCm 6.2 supported on Ubuntu 25.10? Which release should I install?\n",
        "# Changelog\n\n- ROCm 6.3: RHEL 7.9 is no longer supported, its packages cannot be installed there\n",
        "amdgpu-install 6.2 refused on Ubuntu 25.10. I took ROCm 7.2 on Ubuntu 24.04, and now it works.\n",
        "In a docker container with Ubuntu 20.04 and ROCm 6.3 apt finds unmet dependencies.\n",
        "Ubuntu 20.04, I had ROCm 5.7 and tried ROCm 6.3: apt finds unmet dependencies.\n"
        "sudo apt install ./amdgpu-install_5.7.50700-1_all.deb\n",
        "Ubuntu 24.10 with ROCm 6.2 in a rocm/pytorch container works, apt on the host fails to install steam.\n",
        "If I installed ROCm 6.2 on Ubuntu 25.10, would apt fail with unmet dependencies?\n",
    ],
)
def test_what_accuses_nobody(text: str) -> None:
    assert said_of(text) == []


def test_it_is_only_possible() -> None:
    (cause,) = [
        one for one in diagnosed("Debian 11, ROCm 7.1: apt says that libc6 is too old.\n").causes if one.check == NAME
    ]
    assert (cause.cause, cause.confidence) == ("libc-or-abi-mismatch", "possible")
