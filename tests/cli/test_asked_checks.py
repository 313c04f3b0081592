"""``rocdoctor check NAME`` verifies a fix, so its exit status tells what the check found, however mild."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rocdoctor.cli.main import run
from tests.kit import ROOT

WITHOUT_TORCH = str(ROOT / "fixtures" / "cpu-only-laptop.capture")
WITH_TORCH = str(ROOT / "fixtures" / "mi300x-8gpu.capture")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--from", WITHOUT_TORCH], 0),
        (["--from", WITHOUT_TORCH, "torch-not-installed"], 1),
        (["--from", WITHOUT_TORCH, "--only", "torch_not_installed"], 1),
        (["--from", WITHOUT_TORCH, "--python", "/usr/bin/python3"], 1),
        (["--from", WITHOUT_TORCH, "torch-not-installed", "--fail-on", "error"], 0),
        (["--from", WITHOUT_TORCH, "--python", "/usr/bin/python3", "--fail-on", "never"], 0),
        (["--from", WITHOUT_TORCH, "swap-heavy"], 0),
        (["--from", WITH_TORCH, "torch-not-installed"], 0),
        (["--from", WITH_TORCH, "--import-torch"], 0),
    ],
)
def test_every_finding_of_a_check_that_was_asked_for_counts(
    arguments: Sequence[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", *arguments]) == status, capsys.readouterr().out
