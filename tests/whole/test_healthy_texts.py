"""Texts without a fault of the machine: no cause in the environment may come from them."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.text_kit import TEXTS, diagnosed, header_and_body

HEALTHY = sorted((TEXTS / "healthy").glob("*.txt"))


def test_there_are_enough_healthy_texts() -> None:
    assert len(HEALTHY) >= 60


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_nothing_in_a_healthy_text_blames_the_machine(path: Path) -> None:
    header, body = header_and_body(path)
    assert header.get("origin") in ("constructed", "recorded")
    diagnosis = diagnosed(body)
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
