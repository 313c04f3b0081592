"""Texts without a fault of the machine: no cause in the environment may come from them."""

from __future__ import annotations

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
