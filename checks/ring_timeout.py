"""A queue (ring) of the GPU did not finish its work in time: a ring timeout.

Why
  The driver waits some seconds for each job on a ring (gfx, compute, sdma ...) and then resets the ring or the GPU. A
  single timeout is usually the program's fault (an endless kernel, a bad shader, a wrong HSA_OVERRIDE_GFX_VERSION). It
  points at the machine when several programs hit it on one GPU again and again.

Fix
  Find out whether only one program causes it. If several do, update driver and firmware, set clocks and power to their
  defaults and check the power cables; then try the card in another slot or machine.

References
  https://docs.kernel.org/gpu/amdgpu/debugging.html
  https://docs.kernel.org/gpu/amdgpu/module-parameters.html (lockup_timeout)
"""

from __future__ import annotations

from rocdoctor.insight.texts.log_events import (
    age,
    by_device,
    events_of,
    gpu_log,
    is_current,
    is_recent,
    quotes,
    times,
)
from rocdoctor.judging.check import Finding, Fix, Outcome, check, error, info, warning
from rocdoctor.model.facts import LogEvent, Machine
from rocdoctor.model.subject import Subject

_KINDS = ("gpu-ring-timeout", "gpu-ring-soft-recovered")
_OFTEN = 3
_ONE_PROGRAM = Fix("Find out whether one program alone causes it, and run that one under a debugger", safety="safe")
_LONG_JOB = Fix(
    "Find out whether one program alone causes it. If it computes with Vulkan or OpenCL of Mesa, its jobs may only be "
    "longer than amdgpu.lockup_timeout allows (2 s in new kernels): make them smaller (llama.cpp: -ub) or raise that "
    "limit",
    command="cat /sys/module/amdgpu/parameters/lockup_timeout",
    safety="safe",
)
_MACHINE = Fix(
    "Set clocks and power to their defaults, check the power cables, update driver and firmware; "
    "then try the card in another machine",
    safety="manual",
)


@check(gpu_log("amd", *_KINDS))
def ring_timeout(machine: Machine) -> Outcome:
    events = [event for event in events_of(machine, *_KINDS) if not event.during_resume]
    return [_judge(machine, device, members) for device, members in by_device(machine, events)]


def _judge(machine: Machine, device: Subject, events: tuple[LogEvent, ...]) -> Finding:
    hard = tuple(event for event in events if event.kind == "gpu-ring-timeout")
    shown = hard or events
    rings = sorted({str(event.values["ring"]) for event in shown if "ring" in event.values})
    words = f"ring timeout ({', '.join(rings[:4])})" if rings else "ring timeout"
    evidence = quotes(machine, shown)
    when = f"{times(len(shown))}, last {age(machine, shown)}"
    live = [event for event in hard if is_current(event) and is_recent(event)]
    if not live:
        note = "" if hard else ", and the driver recovered by itself"
        return info(
            f"A {words} occurred {when}{note}.",
            evidence=evidence,
            subject=device,
            cause="",
            fix=Fix(
                "If it happens again, note which program was running and read the lines before it",
                command="sudo dmesg -T",
                safety="safe",
            ),
        )
    programs = {str(event.values["process"]) for event in live if event.values.get("process")}
    if len(live) >= _OFTEN and len(programs) > 1:
        return error(
            f"A {words} occurred {when}, with {len(programs)} different programs: work on this GPU hangs again and "
            "again.",
            evidence=evidence,
            fix=_MACHINE,
            subject=device,
            cause="gpu-hardware-fault",
            confidence="possible",
            explains=("gpu-reset-log", "vram-lost", "queue-eviction-failed"),
        )
    return warning(
        f"A {words} occurred {when}: a job on this GPU hung, usually because of a fault in its program.",
        evidence=evidence,
        fix=_LONG_JOB if rings and all(one.startswith("comp") for one in rings) else _ONE_PROGRAM,
        subject=device,
        cause="not-environment",
        confidence="possible",
        explains=("gpu-reset-log", "vram-lost", "queue-eviction-failed"),
    )
