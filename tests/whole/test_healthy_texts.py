"""Texts without a fault of the machine: no cause in the environment may come from them."""

from __future__ import annotations

import textwrap
from functools import cache
from pathlib import Path

import pytest

from rocdoctor.host.evidence.capture import parse
from tests.kit import ROOT
from tests.text_kit import TEXTS, diagnosed, header_and_body

HEALTHY = sorted((TEXTS / "healthy").glob("*.txt"))


def test_there_are_enough_healthy_texts() -> None:
    assert len(HEALTHY) >= 400


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_nothing_in_a_healthy_text_blames_the_machine(path: Path) -> None:
    header, body = header_and_body(path)
    assert header.get("origin") in ("constructed", "recorded"), "begin it with 'origin: constructed' or 'recorded'"
    _blames_nothing(body)


def _blames_nothing(text: str) -> None:
    diagnosis = diagnosed(text)
    assert [one.cause for one in diagnosis.causes if one.cause != "not-environment"] == []
    judged = [verdict for verdict in diagnosis.verdicts if verdict.finding is not None]
    blamed = [
        (verdict.check, verdict.finding.message)
        for verdict in judged
        if verdict.finding is not None
        and verdict.finding.severity != "info"
        and verdict.finding.cause != "not-environment"
    ]
    assert blamed == []
    assert [(verdict.check, verdict.why) for verdict in diagnosis.verdicts if verdict.state == "crashed"] == []


ADVISING = (
    "chat-advice",
    "chat-answer",
    "docs-distributed",
    "faq-bold",
    "faq-slurm",
    "faq-training",
    "github-template",
    "readme-gpu-section",
    "readme-troubleshooting",
    "release-notes-driver",
    "release-notes-library",
    "slurm-healthy",
    "stackoverflow-answer",
    "troubleshooting-sections",
    "wiki-arch",
    "wiki-nodes",
)


def wrapped(text: str, width: int) -> str:
    lines = (
        textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""] for line in text.splitlines()
    )
    return "".join(piece + "\n" for pieces in lines for piece in pieces)


def quoted(text: str) -> str:
    return "".join(f"> {line}".rstrip() + "\n" for line in text.splitlines())


@pytest.mark.parametrize("form", ["80", "60", "quoted", "quoted 72"])
@pytest.mark.parametrize("name", ADVISING)
def test_pages_of_advice_blame_nothing_in_any_form(name: str, form: str) -> None:
    _, body = header_and_body(TEXTS / "healthy" / f"{name}.txt")
    *_, width = form.split()
    text = wrapped(body, int(width)) if width.isdigit() else body
    diagnosis = diagnosed(quoted(text) if form.startswith("quoted") else text)
    assert [one.cause for one in diagnosis.causes if one.cause != "not-environment"] == []


# Sound machines of which people paste everything that they were asked for, whatever the trouble is.
SOUND = ("a10g-8gpu-cloud", "h100-8gpu", "mi210-8gpu", "mi300x-8gpu", "mi350x-8gpu", "rtx4090-2gpu", "rx7900xtx-2gpu")
# Texts called "own-..." name a card or a build of their own: beside another machine they would contradict it.
TROUBLES = [path for path in HEALTHY if path.stem.startswith(("bug-", "trace-", "feature-"))]
_PROGRAMS = ("rocminfo", "rocm-smi", "amd-smi", "nvidia-smi", "lspci", "uname", "lscpu", "df", "ip", "dmesg")


@cache
def dump(machine: str) -> str:
    """What the programs of a recorded machine printed, each below its command."""
    answers = parse((ROOT / "fixtures" / f"{machine}.capture").read_bytes()).answers
    asked = {question.removeprefix("run "): answer.text.rstrip() for question, answer in answers.items()}
    return "".join(f"$ {one}\n{text}\n\n" for one, text in asked.items() if text and one.startswith(_PROGRAMS))


def _with_dumps(machine: str, troubles: list[tuple[int, Path]]) -> None:
    assert len(dump(machine)) > 4_000
    for place, path in troubles:
        _, body = header_and_body(path)
        above = place % 2
        text = f"{dump(machine)}\n{body}" if above else f"{body}\nEverything that you may need:\n\n{dump(machine)}"
        _blames_nothing(text)


@pytest.mark.parametrize("machine", SOUND)
def test_nothing_of_a_long_dump_around_a_trouble_of_the_program_is_blamed(machine: str) -> None:
    """Each trouble with one machine; with all of them it is heavy."""
    mine = list(enumerate(TROUBLES))[SOUND.index(machine) :: len(SOUND)]
    assert len(mine) > 5
    _with_dumps(machine, mine)


@pytest.mark.heavy
@pytest.mark.parametrize("machine", SOUND)
def test_nothing_of_any_dump_around_any_trouble_is_blamed(machine: str) -> None:
    assert len(TROUBLES) * len(SOUND) > 300
    _with_dumps(machine, list(enumerate(TROUBLES)))
