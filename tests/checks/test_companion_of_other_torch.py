"""Companions of torch by the published tables, in pasted texts. The texts are constructed."""

from __future__ import annotations

import pytest

from rocdoctor.model.facts import TorchBuild
from tests.kit import judge, k, states
from tests.message_kit import pasted
from tests.text_kit import diagnosed

NAME = "companion-of-other-torch"


def said_of(text: str) -> list[str]:
    return [one.message for one in diagnosed(text).causes if one.check == NAME]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("torch 2.4.0 and torchvision 0.15.2 are installed. import torchvision fails.\n", "built for torch 2.0"),
        ("I have torch 2.3.1 and torchaudio 2.1.0: importing torchaudio crashes.\n", "built for torch 2.1"),
        (
            "xformers 0.0.27 and torch 2.5.1: xformers cannot load its C++ extensions and it fails.\n",
            "built for torch 2.3",
        ),
    ],
)
def test_a_release_for_another_torch(text: str, words: str) -> None:
    (message,) = said_of(text)
    assert words in message


@pytest.mark.parametrize(
    "text",
    [
        "torch 2.4.1 and torchvision 0.19.0 are installed. import torchvision fails.\n",
        "xformers 0.0.28.post3 and torch 2.5.1: xformers cannot load its C++ extensions and it fails.\n",
        "xformers 0.0.35 and torch 2.11.0: xformers cannot load its C++ extensions and it fails.\n",
        "torch 2.4.0 and torchvision 0.99.1 are installed. import torchvision fails.\n",  # in no table
        "torch 2.4.0 and torchvision 0.15.2. My script fails with KeyError: 'label' after the import.\n",
        "Does torchvision 0.15.2 fit torch 2.4.0? I only ask before I install it.\n",
        "torch 2.4.0 and torchvision 0.15.2 failed at import. I installed torchvision 0.19.0, now everything works.\n",
        "One machine has torch 2.0.1 with torchvision 0.15.2, the other torch 2.4.0 with torchvision 0.19.0. "
        "On both the import of my module fails.\n",
        "# Changelog\n\n- torch 2.4.0: import torchvision 0.15.2 fails, use 0.19\n",
        "Documentation: torchvision 0.20 does not load with torch 2.7. Use 0.22.\n",
    ],
)
def test_what_accuses_nobody(text: str) -> None:
    assert said_of(text) == []


def test_a_list_of_packages_and_a_nightly_are_for_other_checks() -> None:
    text = "torchvision 0.15.2: import torchvision fails.\n"
    assert states(judge(NAME, pasted(text, torch=TorchBuild(version=k("2.4.0"))))) == ["fail"]
    assert states(judge(NAME, pasted(text, torch=TorchBuild(version=k("2.4.0.dev20240601"))))) == ["not-applicable"]
    listed = TorchBuild(version=k("2.4.0"), packages=k({"torchvision": "0.15.2"}))
    assert states(judge(NAME, pasted(text, torch=listed))) == ["not-applicable"]
    assert states(judge(NAME, pasted(text))) == ["not-applicable"]
