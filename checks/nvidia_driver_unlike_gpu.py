"""The NVIDIA driver's branch does not support this GPU.

Why
  Each branch of the driver supports the GPUs of some generations. 390 was the last one for Fermi, 470 for Kepler, 580
  for Maxwell, Pascal and Volta, and Blackwell came with 570. A driver from another branch loads, but leaves the GPU
  out.

Fix
  Install a branch that supports the GPU.

References
  https://wiki.nixos.org/wiki/NVIDIA
  https://forums.developer.nvidia.com/t/current-graphics-driver-releases/28500
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import is_driven
from rocdoctor.insight.texts.own_trouble import names_several, trouble, when_trouble_is_told
from rocdoctor.insight.texts.pasted import all_values, first_value, said, shown
from rocdoctor.judging.check import Evidence, Fix, Outcome, check, cite, not_applicable, warning
from rocdoctor.knowledge.software.combinations import branch_for
from rocdoctor.model.evidence import Fact, Known, value_or
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.lazy_re import regex

_GONE = ("nvidia-driver-not-there", "nvidia-smi-no-devices")
_DRIVER = regex(r"(?i)\b(?:driver|module|nvidia-smi|X|Xorg|display|desktop)\b|\bno (?:GPU|device)s?\b")


@check(when_trouble_is_told(_DRIVER, *_GONE), cause="gpu-not-supported")
def nvidia_driver_unlike_gpu(machine: Machine) -> Outcome:
    if names_several(machine, "nvidia"):
        return not_applicable("the text names several versions")
    told = machine.drivers.get("nvidia", {}).get("version")
    branches = said(machine, "nvidia-branch-named")
    driver = told.value if isinstance(told, Known) else first_value(branches, "branch")
    gpus = [gpu for gpu in machine.gpus if gpu.vendor == "nvidia"]
    if driver is None or len(all_values(branches, "branch")) > 1 or not gpus or any(is_driven(gpu) for gpu in gpus):
        return not_applicable("driver and GPU are not both known, or the driver has the GPU")
    facts = [gpu.compute_capability for gpu in gpus]
    wanted = [branch_for(fact.value, driver) for fact in facts if isinstance(fact, Known)]
    needed = wanted[0] if wanted and len(wanted) == len(gpus) else None
    if needed is None or None in wanted:
        return None  # fits, or one of several fits
    name = value_or(gpus[0].name, "this GPU")
    bound = "first one that supports" if needed.first else "last one that supports"
    return warning(
        f"{name} is of the {needed.generation} generation: branch {needed.branch} of the NVIDIA driver is the {bound} "
        f"it, but the driver here is {driver}.",
        evidence=(*shown(trouble(machine, _DRIVER, *_GONE))[:1], *_named(told, branches), cite(gpus[0].name)),
        fix=Fix(
            f"Install a driver of branch {needed.branch}{' or newer' if needed.first else ''}",
            command="lspci -nnk -d 10de: | grep -A3 -E 'VGA|3D'; cat /proc/driver/nvidia/version",
            safety="reboots",
            effective="reboot",
            verify="nvidia-smi",
        ),
        confidence="likely",
        explains=("kernel-module-not-loaded", "driver-not-loaded-message", "known-message"),
    )


def _named(told: Fact[str] | None, branches: tuple[Message, ...]) -> tuple[Evidence, ...]:
    return (cite(told),) if isinstance(told, Known) else shown(branches)[:1]
