"""The out-of-tree GPU driver could not be built for a kernel (DKMS).

Why
  amdgpu-dkms and the NVIDIA packages compile their module for each installed kernel. The build fails if the kernel is
  too new for the driver release, if headers are missing, or with another compiler. After the next boot there is no
  driver.

Fix
  Install the kernel's headers. If the kernel is newer than the driver release supports, use a newer driver release,
  boot an older kernel that it lists, or use the driver that the kernel itself has (AMD).

References
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
  https://github.com/dell/dkms
"""

from __future__ import annotations

from rocdoctor.insight.software.installing import in_order, wanted
from rocdoctor.insight.texts.pasted import all_values, first_value, said, shown, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error
from rocdoctor.knowledge.load import numbers
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.shell_command import ShellCommand

# amdgpu-dkms 6.8.5.60202-2041575: made from Linux 6.8, for ROCm 6.2.2. Older packages are numbered otherwise (4.0-23).
# That the number is the kernel's says its maintainer in ROCm/ROCm issue 6193 (read 2026-11-29).
_OF_KERNEL = regex(r"((?:[5-9]|\d\d)\.\d{1,2})\.\d{1,3}(?![\w])")
_OF_ROCM = regex(r"\.(\d{1,2})(\d\d)(\d\d)-\d")


def _not_for(version: str, kernel: str) -> str:
    """That the driver's source is of an older Linux than the kernel: "" where this is not so, or not known."""
    source = _OF_KERNEL.match(version)
    if source is None or not numbers(source[1]) < numbers(kernel)[:2]:
        return ""
    newer = ".".join(map(str, numbers(kernel)[:2]))
    return (
        f" The source of amdgpu-dkms {version.partition('-')[0]} is that of Linux {source[1]}; kernel {newer} is newer."
    )


def _release(versions: list[str]) -> str | None:
    """The ROCm release that a package of the driver belongs to, by its version."""
    found = next((one for version in versions if (one := _OF_ROCM.search(version))), None)
    if found is None:
        return None
    major, minor, patch = (int(one) for one in found.groups())
    return f"{major}.{minor}.{patch}" if patch else f"{major}.{minor}"


@check(when_said("dkms-build-failed"), cause="dkms-kernel-mismatch")
def dkms_build_failed(machine: Machine) -> Outcome:
    failed, building = said(machine, "dkms-build-failed"), said(machine, "dkms-building-for")
    kernel = first_value(failed, "kernel") or first_value(building, "kernel") or value_or(machine.kernel.release, None)
    package = first_value(failed, "package") or first_value(building, "package")
    module = first_value(building, "module") or first_value(failed, "module") or ""
    package = package or (f"{module}-dkms" if module else "the DKMS driver package")
    versions = all_values(building, "version") or all_values(failed, "version")
    version = min(versions, key=len) if versions else None
    release = value_or(machine.rocm[0].version, None) if machine.rocm else _release(list(versions))
    named = f"{package}{f' {version}' if version else ''}{f' (ROCm {release})' if release else ''}"
    target = f"kernel {kernel}" if kernel else "the running kernel"
    amd = "nvidia" not in package
    if any("headers" in one.values for one in failed):
        running = ShellCommand("$(uname -r)")
        headers = wanted(machine, "kernel-headers", host=True, kernel=kernel or running)
        return error(
            f"{named} was not built by DKMS for {target}: the headers of that kernel are not installed.",
            evidence=shown(failed),
            fix=Fix(
                f"Install the headers ({headers.words}) and build again",
                command=in_order(headers.command, ShellCommand("sudo dkms autoinstall")),
                safety="reboots",
                verify="dkms status",
            ),
            explains=("kernel-module-not-loaded", "driver-module-not-loaded"),
        )
    own = " The amdgpu driver of the kernel itself also works without DKMS (amdgpu-install --no-dkms)." if amd else ""
    why = _not_for(version or "", kernel or "") if amd else ""
    file = first_value(said(machine, "amdgpu-dkms-does-not-compile"), "file")
    why += f" The first error is in {file}." if file else ""
    newer = "a newer ROCm / amdgpu-dkms release" if amd else "a newer driver release"
    return error(
        f"{named} cannot be built by DKMS for {target}: this driver release does not support that "
        f"kernel, or the headers or the compiler do not match it.{why}",
        evidence=shown(failed),
        fix=Fix(
            f"Install {newer} that supports {target}, or boot an older kernel that the installed release lists "
            f"and remove "
            f"the newer one. The build log (make.log under /var/lib/dkms) names the first error.{own}",
            command="dkms status; uname -r; tail -50 /var/lib/dkms/*/*/build/make.log",
            safety="reboots",
            verify="dkms status",
        ),
        explains=("kernel-module-not-loaded", "driver-module-not-loaded"),
    )
