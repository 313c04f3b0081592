"""A GPU that sleeps is left asleep: nothing that opens it is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.collect import collect
from rocdoctor.host.base import Answer, Kind
from rocdoctor.host.evidence.capture import Capture, parse
from rocdoctor.judging.next_steps import next_steps
from tests.collect.hosts import Whole
from tests.kit import ROOT, k


class _Live(Whole):
    """The machine of a fixture as if it were this one; it notes what it is asked."""

    kind: Kind = "live"

    def __init__(self, capture: Capture) -> None:
        super().__init__(capture)
        self.asked: list[str] = []

    def ask(self, question: str) -> Answer:
        self.asked.append(question)
        return super().ask(question)


def _host(status: str) -> _Live:
    capture = parse((ROOT / "fixtures" / "rx7600s-laptop.capture").read_bytes())
    answers = {
        question: Answer(question, "ok", status.encode()) if question.endswith("/power/runtime_status") else answer
        for question, answer in capture.answers.items()
    }
    return _Live(Capture(capture.headers, capture.summary, answers))


def _opening(host: _Live) -> list[str]:
    tools = ("run rocminfo", "run amd-smi", "run rocm-smi", "run nvidia-smi")
    return [one for one in host.asked if one.startswith(tools) or one.endswith("--import")]


@pytest.mark.parametrize(
    ("status", "wake", "asked"), [("suspended", False, False), ("suspended", True, True), ("active", False, True)]
)
def test_the_tools_of_a_sleeping_gpu_are_asked_only_on_demand(status: str, wake: bool, asked: bool) -> None:
    host = _host(status)
    machine = collect(host, wake=wake)
    assert bool(_opening(host)) is asked
    offered = any(step.command == "rocdoctor check --wake" for step in next_steps(machine))
    assert offered is (status == "suspended")


def test_a_gpu_of_which_a_tool_told_is_not_offered_to_be_woken_again() -> None:
    machine = collect(_host("suspended"))
    woken = replace(machine, gpus=tuple(replace(gpu, power=replace(gpu.power, now_w=k(12.0))) for gpu in machine.gpus))
    assert any("--wake" in step.command for step in next_steps(machine))
    assert not any("--wake" in step.command for step in next_steps(woken))
