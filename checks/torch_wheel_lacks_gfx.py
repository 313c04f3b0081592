"""The installed torch has no code for this AMD GPU.

Why
  A ROCm build contains kernels for a list of gfx targets, compiled ahead of time. On any other GPU the first kernel
  fails with "invalid device function" or "no kernel image is available". Code for a generic target (gfx11-generic)
  runs on each member of its group.

Fix
  Install a torch whose `torch.cuda.get_arch_list()` names this GPU's target: a newer ROCm flavour, or AMD's own
  multi-architecture index. An override (HSA_OVERRIDE_GFX_VERSION) to a target of the same instruction set group is a
  last resort that nobody supports.

References
  https://pytorch.org/get-started/locally/
  https://github.com/ROCm/TheRock/blob/main/RELEASES.md
  https://llvm.org/docs/AMDGPUUsage.html#processors
"""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.insight.gpus.gfx_override import Override, best_value, override_of, physical_gfx
from rocdoctor.insight.software.torch_command import right_build, wheel_of
from rocdoctor.insight.software.torch_stack import (
    backend,
    for_training,
    installed,
    needs_torch,
    of_interpreter,
)
from rocdoctor.judging.check import (
    Evidence,
    Fix,
    Outcome,
    Severity,
    check,
    cite,
    each_amd_gpu,
    finding,
    not_applicable,
    unknown,
)
from rocdoctor.knowledge.lookup import arch_list_covers, gfx_target, same_isa_group, torch_release
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.shell_command import shell


@check(needs_torch(each_amd_gpu), cause="gpu-arch-not-built")
@of_interpreter
def torch_wheel_lacks_gfx(machine: Machine, gpu: Gpu) -> Outcome:
    version = installed(machine.torch)
    if known(backend(machine.torch)) != "rocm":
        return not_applicable("this torch is not a ROCm build")
    if isinstance(gpu.driver, Known) and gpu.driver.value != "amdgpu":
        return not_applicable("the compute driver is not bound to this GPU")
    gfx = known(physical_gfx(machine, gpu))
    target = gfx_target(gfx)
    if target is None:
        raise unknown(f"{gfx} is not in the tables", "undecided")
    built = machine.torch.arch_list
    override = known(override_of(machine, gpu))
    if isinstance(built, Known):
        if arch_list_covers(built.value, gfx):
            return None
        if not machine.torch.arch_list_complete:
            raise unknown("only a part of what this torch was built for is known")
        return _judge(machine, gpu, gfx, version, built.value, cite(built, " ".join(built.value)), override, None)
    row = torch_release(version)
    if row is None or row.flavour is None or row.flavour.gfx is None:
        return known(built)
    if arch_list_covers(row.flavour.gfx, gfx):
        return None
    shown = cite(machine.torch.version, f"torch {version}")
    return _judge(machine, gpu, gfx, version, row.flavour.gfx, shown, override, row.flavour.basis)


def _judge(
    machine: Machine,
    gpu: Gpu,
    gfx: str,
    version: str,
    built: tuple[str, ...],
    shown: Evidence,
    override: Override | None,
    basis: str | None,
) -> Outcome:
    evidence = [cite(gpu.gfx, gfx), shown]
    if override is not None:
        if override.target is None:
            return not_applicable("the runtime refuses the value of HSA_OVERRIDE_GFX_VERSION")
        if arch_list_covers(built, override.target):
            if same_isa_group(gfx, override.target):
                return None
            return not_applicable("HSA_OVERRIDE_GFX_VERSION selects code of another target")
        evidence.append(Evidence(override.variable.value, override.variable.source, override.variable.line))
    runs_as = f", run as {override.target}" if override is not None and override.target != gfx else ""
    words = "Official wheels of this flavour have" if basis else "It has"
    message = f"torch {version} has no code for {gfx}{runs_as}. {words} {', '.join(built)}."
    # A value for one GPU counts for all: beside a card of another target it would break that one.
    alone = all(one is gpu or value_or(one.gfx, gfx) == gfx for one in machine.gpus if one.vendor == "amd")
    value = best_value(gfx) if alone else None
    return finding(
        _severity(machine, gpu, gfx, built, basis),
        message,
        evidence=evidence,
        fix=_fix(machine, gpu, gfx, value if value and override is None else None),
        confidence="certain" if basis is None and machine.environment.complete else "likely",
        explains=("kernel-lib-arch-unsupported",),
    )


def _severity(machine: Machine, gpu: Gpu, gfx: str, built: tuple[str, ...], basis: str | None) -> Severity:
    if not for_training(gpu) or basis == "table":
        return "info"
    # A second card that shows pictures beside one that trains, or an override that this evidence does not show.
    others = [one for one in machine.gpus if one is not gpu and one.vendor == "amd" and for_training(one)]
    if any(arch_list_covers(built, value_or(one.gfx, "")) for one in others):
        return "warning"
    helped = any(same_isa_group(gfx, one) for one in built)
    if helped and not machine.environment.complete:
        return "info"
    return "warning" if basis is not None else "error"


def _fix(machine: Machine, gpu: Gpu, gfx: str, value: str | None) -> Fix:
    if for_training(gpu) and wheel_of(machine, gpu) is not None:
        fix = right_build(machine, gpu)
        if value is None:
            return fix
        until = f"Until then its group's code may run with HSA_OVERRIDE_GFX_VERSION={value}, unsupported"
        return replace(fix, text=f"{fix.text}. {until}")
    text = f"Install a torch that is built for {gfx}: AMD's multi-architecture wheels, or a build from source"
    if value is None:
        return Fix(text, safety="manual")
    return Fix(
        f"{text}. Until then its group's code may run with HSA_OVERRIDE_GFX_VERSION={value}, unsupported",
        command=shell("export HSA_OVERRIDE_GFX_VERSION={value:number}", value=value),
        safety="risky",
        verify="python3 -c \"import torch; print(torch.ones(8, device='cuda').sum())\"",
    )
