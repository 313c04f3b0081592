"""HSA_OVERRIDE_GFX_VERSION makes the runtime treat this GPU as another one.

Why
  The variable replaces the target that the driver reports, so that code for another GPU is loaded. Within one group of
  instruction sets that can work (gfx1031 as gfx1030); across groups it causes memory faults, hangs, wrong numbers or a
  crashed desktop. The plain form affects every GPU of the machine. If torch has code for the real target, it only
  disables the tuned code. A value that is not three decimal numbers stops the runtime: no GPU is visible.

Fix
  Unset it, and remove it from the script or profile that sets it. If a GPU really needs one, use a value
  from its own group. For different GPUs, use the form with the KFD node number: HSA_OVERRIDE_GFX_VERSION_1. A global
  value that suits one card of a machine but harms another is reported as mixed architectures.

References
  https://llvm.org/docs/AMDGPUUsage.html#processors
  ROCm source: libhsakmt/src/topology.c, https://github.com/ROCm/rocm-systems
  https://github.com/ROCm/ROCm/issues (reports of faults with an override: 3065, 4557, 5824)
"""

from __future__ import annotations

from rocdoctor.insight.gpus.gfx_override import (
    NAME,
    Override,
    best_value,
    node_setting,
    override_of,
    physical_gfx,
    unlike_gpus_it_fits,
)
from rocdoctor.insight.gpus.presence import VISIBLE_AMD, chosen_by, is_driven, is_integrated
from rocdoctor.insight.gpus.visibility import where_set
from rocdoctor.insight.software.torch_stack import for_training
from rocdoctor.insight.texts.pasted import shown
from rocdoctor.insight.texts.symptoms import crashes
from rocdoctor.judging.check import (
    About,
    Evidence,
    Finding,
    Fix,
    Outcome,
    Severity,
    check,
    cite,
    each_amd_gpu,
    error,
    finding,
    info,
    not_applicable,
    quote,
    unknown,
    warning,
)
from rocdoctor.knowledge.lookup import arch_list_covers, gfx_target, override_row
from rocdoctor.model.change import Unset
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Gpu, Machine, Message, Variable
from rocdoctor.model.shell_command import ShellCommand, shell

_EXPLAINS = (
    "torch-wheel-lacks-gfx",
    "torch-gpu-count-mismatch",
    "mixed-gpu-architectures",
    "gpu-page-fault",
    "ring-timeout",
)


@check(each_amd_gpu, cause="hsa-override-wrong")
def gfx_override_mismatch(machine: Machine, gpu: Gpu) -> Outcome:
    override = known(override_of(machine, gpu))
    if override is None:
        if machine.environment.complete:
            return None
        raise unknown(f"whether {NAME} is set is not in this evidence")
    if is_driven(gpu) is False:
        return not_applicable("the compute driver is not bound to this GPU")
    variable = override.variable
    if override.target is None:
        if not variable.value.strip() and not machine.environment.complete:
            raise unknown(f"{NAME} has no value in this evidence")
        return _malformed(machine, variable)
    gfx_fact = physical_gfx(machine, gpu)
    gfx = known(gfx_fact)
    if override.target == gfx:
        return None
    return _judge(machine, gpu, gfx, override)


def _malformed(machine: Machine, variable: Variable) -> Finding:
    return error(
        f"{variable.name} is {variable.value!r}, which is not three decimal numbers such as 10.3.0: the ROCm runtime "
        "refuses to start, and no GPU is visible.",
        evidence=[quote(variable.source, f"{variable.name}={variable.value}", variable.line)],
        fix=_unset(variable),
        explains=_EXPLAINS,
        confidence="certain" if machine.environment.complete else "likely",
    )


def _judge(machine: Machine, gpu: Gpu, gfx: str, override: Override) -> Outcome:
    variable, target = override.variable, override.target or ""
    row = override_row(gfx, variable.value)
    evidence = [cite(gpu.gfx, gfx), quote(variable.source, f"{variable.name}={variable.value}", variable.line)]
    message = f"This GPU is {gfx}, but {variable.name} makes it run code for {target}"
    sure = machine.environment.complete and isinstance(gpu.gfx, Known)
    fix = _fix(machine, gpu, gfx, variable)
    if row.safety == "unknown":
        if gfx_target(gfx) is None:
            raise unknown(f"{gfx} is not in the tables", "undecided")
        return warning(
            f"{message}, which is not a target that is known here.", evidence=evidence, fix=fix, confidence="likely"
        )
    listed = gfx_target(target)
    if row.safety == "same-group" and listed is not None and listed.gfx != target:
        return warning(
            f"{message}, an early name of {listed.gfx} that newer runtimes refuse.",
            evidence=evidence,
            fix=_unset(variable),
            confidence="likely",
        )
    if row.safety == "unsafe":
        aside = is_integrated(gpu) and any(
            for_training(other) and is_driven(other) is not False for other in machine.gpus
        )
        fits = unlike_gpus_it_fits(machine, gpu, override) if for_training(gpu) else ()
        if fits:
            return _mixed(machine, gpu, gfx, override, fits, evidence)
        # Nothing runs on an integrated GPU beside a discrete one, unless it is the first and no variable selects GPUs.
        first = value_or(gpu.hip_index, None) == 0 and chosen_by(machine, VISIBLE_AMD) is None
        severity: Severity = "error" if not aside else "warning" if first else "info"
        return finding(
            severity,
            f"{message}, which has different instructions: expect memory faults, hangs or wrong results.",
            evidence=evidence,
            fix=fix,
            explains=_EXPLAINS,
            confidence="certain" if sure else "likely",
        )
    built = machine.torch.arch_list
    if isinstance(built, Known) and arch_list_covers(built.value, gfx):
        evidence.append(cite(built, " ".join(built.value)))
        return warning(
            f"{message}, although the installed torch has code for {gfx}: the override only disables that.",
            evidence=evidence,
            fix=_unset(variable),
        )
    crashed = crashes(machine)
    if row.safety == "risky":
        risk = f"{message}. They are in the same instruction set group, but faults are on record for this pair."
        if crashed and row.in_common_use:
            return _suspected(risk, evidence, crashed, variable)
        return (info if row.in_common_use else warning)(risk, evidence=evidence, fix=fix)
    return info(
        f"{message}, of the same instruction set group; it can work, but is not supported.",
        evidence=evidence,
        fix=Fix(
            "If programs fault or results are wrong, unset the variable and use a build that has code for this GPU",
            safety="manual",
        ),
    )


def _suspected(risk: str, evidence: list[Evidence], crashed: tuple[Message, ...], variable: Variable) -> Finding:
    """A value that many people use, on a machine where programs crash."""
    return warning(
        f"{risk} Programs crash here.",
        evidence=[*evidence, *shown(crashed)[:1]],
        fix=Fix(
            f"Unset {variable.name} and remove it from {where_set(variable)} (containers inherit it), and use a "
            "build that has code for the real target",
            command=shell("unset {name:name}", name=variable.name),
            unsets=(variable.name,),
            safety="safe",
            verify="rocdoctor check gfx-override-mismatch",
        ),
        explains=_EXPLAINS,
        confidence="possible",
    )


def _mixed(
    machine: Machine, gpu: Gpu, gfx: str, override: Override, fits: tuple[Gpu, ...], evidence: list[Evidence]
) -> Finding:
    """One value for different GPUs: right for some, wrong for this one."""
    variable = override.variable
    other = fits[0]
    evidence.insert(1, cite(other.gfx, f"{other.label}: {known(other.gfx)}"))
    built = machine.torch.arch_list
    need: list[str] = []
    settings = ShellCommand("")
    for one in (gpu, *fits):
        real = known(physical_gfx(machine, one))
        value = best_value(real)
        if value is not None and not (isinstance(built, Known) and arch_list_covers(built.value, real)):
            need.append(f"{node_setting(one, value)} for {real}")
            name, _, number = node_setting(one, value).partition("=")
            settings = shell("{before}; export {name:name}={value:number}", before=settings, name=name, value=number)
    form = f"{NAME}_<KFD node>=<value>"
    per_node = (
        f"set it only for the GPU that needs it, by its KFD node: {', '.join(need)}"
        if need
        else f"where one of them does need an override, use the form for one KFD node, {form}"
    )
    nodes = "" if all(isinstance(one.kfd_node, Known) for one in (gpu, *fits)) else _NODES
    return error(
        f"One {NAME}={variable.value} applies to different GPUs (mixed architectures): it fits {other.label} "
        f"({known(physical_gfx(machine, other))}), but makes this {gfx} run code for {override.target}, which has "
        "different instructions: expect memory faults, hangs or wrong results.",
        evidence=evidence,
        cause="mixed-gpu-archs",
        about=About(subjects=(other.subject,)),
        fix=Fix(
            f"Unset {NAME}, remove it from {where_set(variable)}, and {per_node}{nodes}. Or give each job GPUs of one "
            "kind with HIP_VISIBLE_DEVICES",
            command=shell("unset {name:name}{settings}", name=NAME, settings=settings),
            unsets=(NAME,),
            safety="safe",
            verify="rocdoctor check gfx-override-mismatch",
        ),
        explains=("hsa-override-wrong", *_EXPLAINS),
        confidence="certain" if machine.environment.complete else "likely",
    )


_NODES = " (the nodes: grep -H gfx_target_version /sys/class/kfd/kfd/topology/nodes/*/properties)"


def _unset(variable: Variable) -> Fix:
    return Fix(
        f"Unset {variable.name} and remove it from {where_set(variable)}",
        command=shell("unset {name:name}", name=variable.name),
        unsets=(variable.name,),
        safety="safe",
        verify="rocdoctor check gfx-override-mismatch",
        changes=(Unset(variable.name),),
    )


def _fix(machine: Machine, gpu: Gpu, gfx: str, variable: Variable) -> Fix:
    value = best_value(gfx)
    built = machine.torch.arch_list
    if value is None or value == variable.value or (isinstance(built, Known) and arch_list_covers(built.value, gfx)):
        return _unset(variable)
    several = sum(other.vendor == "amd" for other in machine.gpus) > 1
    name = f"{NAME}_{gpu.kfd_node.value}" if several and isinstance(gpu.kfd_node, Known) else NAME
    return Fix(
        f"Unset {variable.name} and remove it from {where_set(variable)}. Only if torch has no code for {gfx}, "
        f"try the value of its own group: {name}={value}",
        command=shell("unset {name:name}", name=variable.name),
        unsets=(variable.name,),
        safety="safe",
        verify="rocdoctor check gfx-override-mismatch",
    )
