from __future__ import annotations

import pytest

from rocdoctor.collect.software.installations import collect_torch
from rocdoctor.host.base import Answer
from rocdoctor.host.evidence.capture import Capture, CaptureHost
from rocdoctor.model.facts import ToolFailure, TorchBuild, Unanswered
from tests.kit import amd_gpu, judge, k, machine, severities, states

NAME = "interpreter-no-answer"
PATH = "/home/user/venv/bin/python"
_ASKED = f'{{"schema": "rocdoctor.probe/1", "part": "asked", "interpreter": "{PATH}"}}\n'


def asked(status: str, text: str = _ASKED, **more: object) -> TorchBuild:
    """What becomes of an answer of the interpreter."""
    answer = Answer("python default", status, text.encode(), **more)  # type: ignore[arg-type]
    return collect_torch(CaptureHost(Capture({}, "", {"python default": answer}), "a test"), False)


@pytest.mark.parametrize(
    ("torch", "words"),
    [
        (asked("timeout", note="5s"), f"{PATH} hung: it gave no answer within 5s"),
        (asked("denied"), f"{PATH} cannot be started"),
        (asked("ok"), f"{PATH} ended without any answer"),
        (asked("ok", truncated=True), f"{PATH} printed without end"),
    ],
    ids=["timeout", "denied", "silent", "flood"],
)
def test_an_interpreter_without_an_answer_is_named(torch: TorchBuild, words: str) -> None:
    (verdict,) = judge(NAME, machine(torch=torch))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert words in verdict.finding.message
    assert verdict.finding.severity == "warning"
    assert PATH in verdict.finding.evidence[1].value
    assert verdict.finding.fix.command.startswith("rocdoctor check --python")


def test_a_slow_import_is_a_note_unless_the_tools_hang_too() -> None:
    begun = '{"schema": "rocdoctor.probe/1", "part": "begin", "step": "import torch"}\n'
    torch = asked("timeout", _ASKED + begun, note="5s")
    slow = judge(NAME, machine(amd_gpu(), torch=torch))
    assert severities(slow) == ["info"]
    assert slow[0].finding is not None
    assert f"{PATH} was still at the step 'import torch' after 5s" in slow[0].finding.message
    failed = (ToolFailure("run rocminfo", "whatever it said"),)
    for reason, severity in (("timeout", "warning"), ("failed", "info")):
        gap = Unanswered("run rocminfo", reason, "")  # type: ignore[arg-type]
        judged = judge(NAME, machine(amd_gpu(), torch=torch, failures=failed, unanswered=(gap,)))
        assert severities(judged) == [severity]
    torch_alone = Unanswered("python default", "timeout", "")
    judged = judge(NAME, machine(amd_gpu(), torch=torch, failures=failed, unanswered=(torch_alone,)))
    assert severities(judged) == ["info"]


def test_an_answer_passes_and_none_asked_is_unknown() -> None:
    assert states(judge(NAME, machine(torch=TorchBuild(no_answer=k(None))))) == ["pass"]
    assert states(judge(NAME, machine())) == ["unknown"]
