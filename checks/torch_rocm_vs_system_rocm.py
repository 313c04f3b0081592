"""torch was built for a different major release of ROCm than the one that is installed here.

Why
  The pytorch.org wheels include their own ROCm libraries and need only the kernel driver, so any release of the
  system's ROCm works with them. A torch that takes its libraries from the system (a distribution's or a self-built one)
  loads whatever is in /opt/rocm, but another major release has different library versions. So it fails to import, or
  crashes.

Fix
  Install the ROCm release that torch names (`torch.version.hip`), or a torch built for the installed one.

References
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/3rd-party/pytorch-install.html
  https://rocm.docs.amd.com/en/latest/compatibility/compatibility-matrix.html
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_stack import backend, installed, needs_torch, rocm_label, works
from rocdoctor.judging.check import (
    Evidence,
    Fix,
    Outcome,
    check,
    cite,
    machine_with_amd,
    not_applicable,
    unknown,
    warning,
)
from rocdoctor.knowledge.load import numbers
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Machine, RocmInstall

_WHEELS = ("rocm-sdk-core", "rocm-sdk-libraries", "rocm")


def _cited(installs: list[RocmInstall]) -> list[Evidence]:
    return [cite(one.version) for one in installs]


@check(needs_torch(machine_with_amd), cause="mixed-rocm-installs")
def torch_rocm_vs_system_rocm(machine: Machine) -> Outcome:
    torch = machine.torch
    version = installed(torch)
    if known(backend(torch)) != "rocm":
        return not_applicable("this torch is not a ROCm build")
    if known(torch.bundled_rocm) or works(machine, "rocm"):
        return None
    packages = value_or(torch.packages, {})
    if any(name in packages for name in _WHEELS):
        return None
    installs = [one for one in machine.rocm if isinstance(one.version, Known)]
    if not installs:
        raise unknown("no ROCm installation is in this evidence", "absent")
    majors = {numbers(value_or(one.version, ""))[:1] for one in installs}
    label = rocm_label(torch)
    # HIP follows the numbers of ROCm up to 7.x only.
    if label is None and any(major and major[0] > 7 for major in majors):
        raise unknown("from ROCm 10.0 on, HIP has its own version numbers", "undecided")
    wanted = label or value_or(torch.hip, None) or ""
    if not numbers(wanted) or numbers(wanted)[:1] in majors:
        return None
    has = ", ".join(sorted({value_or(one.version, "") for one in installs}))
    return warning(
        f"torch {version} uses the system's ROCm libraries and was built for ROCm {numbers(wanted)[0]}, but ROCm {has} "
        "is installed.",
        evidence=[
            cite(torch.hip),
            cite(torch.bundled_rocm, "includes no ROCm libraries"),
            *(cite(i.version) for i in installs),
        ],
        fix=Fix(
            f"Install ROCm {numbers(wanted)[0]}, or a torch that is built for ROCm {has}",
            safety="manual",
            verify='python3 -c "import torch; print(torch.version.hip)"',
        ),
        confidence="likely",
        explains=("torch-import-fails",),
    )
