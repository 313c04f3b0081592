"""What a verdict keeps of the facts that it rests on."""

from __future__ import annotations

import pytest

from rocdoctor.judging.check import Check, Outcome, known, unknown
from rocdoctor.judging.next_steps import topic_of
from rocdoctor.judging.running import run_check
from rocdoctor.judging.selectors import each_gpu, whole_machine
from rocdoctor.model.evidence import Reason, Source, Unknown
from rocdoctor.model.facts import Gpu, Kernel, Machine
from tests.kit import ROOT, amd_gpu, machine


def _check(function: object, selector: object = each_gpu) -> Check:
    return Check("made-up", function, selector, "", "A check.", ROOT)  # type: ignore[arg-type]


def test_an_unknown_verdict_keeps_the_fact_with_its_reason_and_source() -> None:
    gap = Unknown("the GPU sleeps", "suspended", Source("read /x", 1))

    def reads(machine: Machine, gpu: Gpu) -> Outcome:
        known(gpu.gfx)
        return None

    (verdict,) = run_check(_check(reads), machine(amd_gpu(gfx=gap)))
    assert (verdict.state, verdict.why, verdict.gap) == ("unknown", "the GPU sleeps", gap)
    assert verdict.subject == amd_gpu().subject
    (passed,) = run_check(_check(reads), machine(amd_gpu()))
    assert (passed.state, passed.why, passed.gap) == ("pass", "", None)


def test_a_check_may_name_the_question_itself() -> None:
    def ends(machine: Machine) -> Outcome:
        raise unknown("two sources differ", "undecided", Source("run a"))

    (verdict,) = run_check(_check(ends, whole_machine), machine())
    assert verdict.gap == Unknown("two sources differ", "undecided", Source("run a"))


@pytest.mark.parametrize(
    ("reason", "question", "topic"),
    [
        ("denied", "run dmesg", "kernel-log"),
        ("denied", "run lspci", None),
        ("not-asked", "python default --import", "interpreter"),
        ("suspended", "read /sys/x", "sleep"),
        ("not-asked", "", None),
    ],
)
def test_a_gap_belongs_to_what_one_command_answers(reason: Reason, question: str, topic: str | None) -> None:
    log = Unknown("only root reads it", "denied", Source("run dmesg"))
    gap = Unknown("made up", reason, Source(question) if question else None)
    assert topic_of(machine(kernel=Kernel(log=log)), gap) == topic
