"""The runtime reports another card's target for this card, although the evidence shows no override.

Why
  The ROCm runtime takes the target of a GPU from the kernel, which reads it from the chip: a Radeon 8060S is gfx1151,
  an Instinct MI210 gfx90a. A program that names a card together with the target of another one runs under
  HSA_OVERRIDE_GFX_VERSION, even if nobody remembers setting it: in a profile, a service or an image, or handed on by
  toolbox and distrobox. Code for another instruction set group causes memory faults, hangs and wrong numbers.

Fix
  Find where the variable is set (`env | grep HSA_`, the files of the shell, the service and the image), remove it, and
  start the container or session again.

References
  https://llvm.org/docs/AMDGPUUsage.html#processors
  ROCm source: libhsakmt/src/topology.c, https://github.com/ROCm/rocm-systems
"""

from __future__ import annotations

from rocdoctor.insight.gpus.gfx_override import NAME, node_variables
from rocdoctor.insight.texts.pasted import said, shown, when_said
from rocdoctor.insight.texts.symptoms import crashes
from rocdoctor.judging.check import Confidence, Finding, Fix, Outcome, Severity, check, finding, not_applicable
from rocdoctor.knowledge.lookup import gfx_target, override_row, profiles_by_name
from rocdoctor.model.facts import Machine, Message

_KIND = "card-shown-with-target"


@check(when_said(_KIND), cause="hsa-override-wrong")
def gfx_unlike_card(machine: Machine) -> Outcome:
    if NAME in machine.environment.variables or node_variables(machine.environment):
        return not_applicable("the override itself is in this evidence")
    found = [_judge(machine, message) for message in said(machine, _KIND)]
    return [one for one in found if one is not None][:1]


def _judge(machine: Machine, message: Message) -> Finding | None:
    card, target = str(message.values.get("card", "")).strip(), str(message.values.get("target", ""))
    real = {profile.gfx for profile in profiles_by_name(card) if profile.gfx}
    told = gfx_target(target)
    if len(real) != 1 or told is None or told.gfx in real:
        return None
    (gfx,) = real
    unsafe = override_row(gfx, _value(target)).safety == "unsafe"
    crashed = crashes(machine)
    severity: Severity = "error" if unsafe else "warning" if crashed else "info"
    sure: Confidence = "likely" if unsafe else "possible"
    return finding(
        severity,
        f"{card} is {gfx}, but the runtime calls it {target}: {NAME} is set somewhere (a profile, the service, the "
        "image, or the session that started a toolbox), and code for another GPU is loaded.",
        evidence=(*shown([message]), *shown(crashed)[:1]),
        fix=Fix(
            f"Find {NAME} and unset it: remove it from the shell's profile, the unit of the service, the compose file "
            f"or the image, and start a toolbox or container again; {gfx} needs a build that has code for it",
            command="env | grep HSA_; grep -rs HSA_OVERRIDE_GFX_VERSION ~/.bashrc ~/.profile ~/.config "
            "/etc/environment /etc/profile.d",
            safety="safe",
            verify="rocminfo | grep -E 'Marketing Name|gfx'",
        ),
        confidence=sure,
        explains=("gpu-page-fault", "ring-timeout", "not-environment", "gpu-arch-not-built"),
    )


def _value(target: str) -> str:
    """The override that gives a target: ``11.0.0`` for gfx1100, ``9.0.10`` for gfx90a."""
    digits = target.removeprefix("gfx")
    major, minor, stepping = digits[:-2], digits[-2], digits[-1]
    return f"{major}.{int(minor, 16)}.{int(stepping, 16)}"
