"""A tool gave no answer, or an error.

Why
  rocdoctor asks the vendor's tools after the kernel's own files, so most facts are there without them. A tool that
  hangs until its deadline often waits for a driver that no longer answers; one that fails may be from a different
  release than the driver, or not be allowed to open the device. A tool that only gave no answer in time is not a
  finding, unless several hang or the kernel log shows a stuck driver: on a busy machine tools are slow.

Fix
  Run the command by hand and read what it says. If it hangs, look in the kernel log for GPU resets before anything
  else; only a reboot ends a process that hangs in the driver.

References
  `rocdoctor facts` shows what is known without the tool.
"""

from __future__ import annotations

from rocdoctor.insight.texts.log_events import is_current, other_events
from rocdoctor.judging.check import Finding, Fix, Outcome, check, finding, not_applicable, quote, unknown, whole_machine
from rocdoctor.model.facts import Machine, ToolFailure
from rocdoctor.model.question import Question
from rocdoctor.model.question_commands import command_of

_GPU_TOOLS = ("rocminfo", "rocm-smi", "amd-smi", "nvidia-smi")
# What a driver that no longer answers leaves in the kernel log.
_STUCK = (
    "gpu-ring-timeout",
    "gpu-reset-failed",
    "gpu-lost",
    "smu-no-response",
    "mes-no-response",
    "nvidia-fallen-off-bus",
    "kfd-queue-preemption-failed",
    "hung-task",
)


@check(whole_machine)
def tool_failed(machine: Machine) -> Outcome:
    if not machine.failures:
        return None if machine.gpus else not_applicable("no GPU, so no tool was asked")
    by_question = {failure.question: failure for failure in machine.failures}
    # The tools that are Python are slow on a loaded machine or a network disk, and nvidia-smi where GPUs wake up one by
    # one; a stuck driver stops several, rocminfo too, or is in the log.
    hung = {_program(one) for one in by_question.values() if _hung(one) and _program(one) in _GPU_TOOLS}
    stuck = (len(hung) > 1 and "rocminfo" in hung) or bool(
        hung and any(is_current(event) for event in other_events(machine, *_STUCK))
    )
    # A tool that gave no answer where nothing else hangs had little time as often as it hung: the report lists it.
    found = [_finding(one) for one in list(by_question.values())[:20] if stuck or not _hung(one)]
    if not found:
        raise unknown(_too_slow(list(by_question.values())), "timeout")
    return found


def _too_slow(failures: list[ToolFailure]) -> str:
    shown = "; ".join(_shown(one) for one in failures[:3])
    more = f" and {len(failures) - 3} more" if len(failures) > 3 else ""
    return f"no answer in time from {shown}{more}: slow on a busy machine, or hung"


def _shown(failure: ToolFailure) -> str:
    asked = Question.of(failure.question)
    return asked.rest if asked.verb == "run" else failure.question


def _program(failure: ToolFailure) -> str:
    return Question.of(failure.question).program


def _hung(failure: ToolFailure) -> bool:
    return failure.reason == "timeout"


def _finding(failure: ToolFailure) -> Finding:
    shown = _shown(failure)
    hung = _hung(failure)
    vendor = _program(failure) in _GPU_TOOLS
    why = failure.why.removeprefix(f"{failure.question}: ")
    evidence = (quote(failure.question, failure.text[:200] or why, failure.line),)
    command = command_of(failure.question)
    by_hand = "Run it by hand" if command else "Run the same command by hand, once you know what it does"
    fix = Fix(f"{by_hand}; if it hangs, look for GPU resets in the kernel log first", command, "safe")
    said = "hung" if hung else "failed"
    message = f"`{shown}` {said} ({why}); the report was made without it."
    return finding("warning" if hung and vendor else "info", message, evidence=evidence, fix=fix)
