"""The amdgpu module was given a parameter that it does not know.

Why
  The kernel ignores an unknown parameter with one line in its log ("unknown parameter 'gtt_size' ignored"), so the
  setting has no effect. Usually it is misspelled (the right name here is `gttsize`), or a newer driver no longer has
  it.

Fix
  Correct or remove it where it is set: on the kernel command line as `amdgpu.NAME=`, or under /etc/modprobe.d as
  `options amdgpu NAME=`. `modinfo -p amdgpu` lists the names that the installed module knows.

References
  https://docs.kernel.org/gpu/amdgpu/module-parameters.html
  Linux kernel/module/main.c (unknown_module_param_cb)
"""

from __future__ import annotations

from collections.abc import Mapping

from rocdoctor.insight.gpus.presence import kernel_log
from rocdoctor.judging.check import (
    About,
    Finding,
    Fix,
    Outcome,
    check,
    cite,
    info,
    machine_with_amd,
    quote,
    unknown,
    warning,
)
from rocdoctor.knowledge.lookup import amdgpu_parameter_names, module_parameter
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Machine


@check(machine_with_amd)
def amdgpu_parameter_unknown(machine: Machine) -> Outcome:
    log = kernel_log(machine)
    found: dict[str, Finding] = {}
    for event in log.of("module-parameter-unknown") if log is not None else ():
        name = str(event.values.get("parameter", ""))
        if event.values.get("module") != "amdgpu" or event.before_driver_load or name in found:
            continue
        evidence = (quote(log.source if log else "", event.text, event.line),)
        found[name] = warning(
            f"The amdgpu module ignored the parameter {name}, which it does not know{_did_you_mean(name)}.",
            evidence=evidence,
            fix=_fix(machine, name),
            about=About("amdgpu", name),
        )
    # Where the module itself was not heard, a name that only looks like a misspelt one is worth a note.
    for name in _given(machine) if not (log is not None and log.complete) else ():
        if name not in found and name not in amdgpu_parameter_names() and _nearest(name):
            found[name] = info(
                f"The kernel command line sets amdgpu.{name}, which no known release has{_did_you_mean(name)}.",
                evidence=(cite(machine.kernel.parameters, f"amdgpu.{name}"),),
                fix=_fix(machine, name),
                about=About("amdgpu", name),
                confidence="likely",
            )
    if not found and not known(machine.kernel.log).complete:
        raise unknown("the kernel log does not reach back to the start of the driver", "undecided")
    return list(found.values())


def _given(machine: Machine) -> list[str]:
    parameters: Mapping[str, str] = value_or(machine.kernel.parameters, {})
    return [name.removeprefix("amdgpu.") for name in parameters if name.startswith("amdgpu.")]


def _nearest(name: str) -> str | None:
    from difflib import get_close_matches  # for the rare mistake alone

    plain = {one.replace("_", ""): one for one in amdgpu_parameter_names()}
    near = get_close_matches(name.replace("_", "").replace("-", "").lower(), plain, n=1, cutoff=0.8)
    return plain[near[0]] if near else None


def _did_you_mean(name: str) -> str:
    nearest = _nearest(name)
    return f": did you mean {nearest}" if nearest else ""


def _fix(machine: Machine, name: str) -> Fix:
    nearest = _nearest(name)
    entry = module_parameter("amdgpu", nearest) if nearest else None
    place = "on the kernel command line" if name in _given(machine) else "where it is set (command line or modprobe.d)"
    change = f"Write {nearest} instead of {name}" if nearest else f"Remove {name}"
    text = f"{change} {place} and reboot{f'. {entry.text}' if entry else ''}"
    return Fix(text, command="modinfo -p amdgpu", safety="reboots", effective="reboot")
