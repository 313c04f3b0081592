"""Named checks have torch imported only where one of them looks at what that tells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from rocdoctor.cli.commands import check as command
from rocdoctor.collect import collect
from rocdoctor.host.base import Answer, Host, Kind
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.judging.loading import checks_folder, load_check
from rocdoctor.judging.needs import look_at_torch
from rocdoctor.service.evidence import open_evidence
from tests.kit import ROOT

FIXTURE = str(ROOT / "fixtures" / "rx7900xtx-2gpu.capture")


class _Live:
    """A recorded machine that is asked as if it were this one."""

    kind: Kind = "live"
    origin = "this machine"

    def __init__(self, inner: Host) -> None:
        self.inner = inner
        self.asked: list[str] = []

    def ask(self, question: str) -> Answer:
        self.asked.append(question)
        return self.inner.ask(question)

    def prefetch(self, questions: Iterable[str]) -> None:
        self.asked += questions

    def available(self) -> tuple[str, ...]:
        return ()


@pytest.mark.parametrize(
    ("name", "imported"),
    [
        ("pcie-link-narrow", False),
        ("gpu-over-temperature", False),
        ("kernel-tainted", False),
        ("torch-wheel-lacks-gfx", True),
        ("torch-gpu-count-mismatch", True),
    ],
)
def test_torch_is_imported_for_the_checks_that_look_at_it(name: str, imported: bool) -> None:
    host = _Live(open_evidence(FIXTURE))
    one = load_check(checks_folder() / f"{name.replace('-', '_')}.py")
    machine = command._collected(command.Options(names=(name,)), host, [one])
    diagnose(machine, [one])
    assert ("python default --import" in host.asked) == imported
    assert len(machine.gpus) == 2


def test_without_names_torch_is_imported_at_once() -> None:
    host = _Live(open_evidence(FIXTURE))
    command._collected(command.Options(), host, [])
    assert "python default --import" in host.asked


def test_the_number_of_torch_of_a_gpu_counts_too() -> None:
    machine = collect(open_evidence(FIXTURE))
    reads = load_check(checks_folder() / "kernel_tainted.py")
    assert not look_at_torch([reads], machine)
    assert look_at_torch([replace(reads, function=lambda machine: machine.gpus[0].torch_index and None)], machine)
