"""Packages or libraries of two ROCm sources are mixed, as apt or the loader reports.

Why
  Distributions ship parts of ROCm under the same package names as AMD's repository (rocminfo, rocm-smi, hip, comgr).
  apt may choose one source for one package and the other for the next: "Depends ... but ... is to be installed", files
  that two packages own, or libraries with different symbol versions.

Fix
  Choose one source. To use AMD's repository, pin it above the distribution's (Pin-Priority 600), remove the packages of
  the other, and install again. Remove other releases from LD_LIBRARY_PATH.

References
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/install-methods/package-manager-index.html
  https://wiki.debian.org/AptConfiguration
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import all_values, first_value, said, shown, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error
from rocdoctor.knowledge.software.package_managers import package_managers, vendor_first, wanted_packages
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import ShellCommand, shell

_APT = ("package-version-conflict", "package-file-conflict")
_LOADER = ("symbol-version-missing", "rocm-versions-differ")


@check(when_said(*_APT, *_LOADER), cause="mixed-rocm-installs")
def mixed_rocm_message(machine: Machine) -> Outcome:
    packages = said(machine, *_APT)
    if packages and all("release" in one.values for one in packages):
        return error(
            f"The package repository of ROCm is for another distribution release: "
            f"{first_value(packages, 'needs')}, which "
            f"{first_value(packages, 'package')} needs, does not exist here.",
            evidence=shown(packages),
            fix=Fix(
                "Use AMD's repository for exactly this distribution release (its code name in the sources list)",
                "cat /etc/os-release; grep -rh radeon /etc/apt/sources.list.d",
            ),
            confidence="likely",
        )
    if packages:
        one, other = first_value(packages, "package", "other"), first_value(packages, "found", "version")
        needs = first_value(packages, "needs")
        path = first_value(packages, "path")
        how = f"both contain {path}" if path else f"{one} needs another {needs} than {other}, which apt would install"
        if path and "dkms" in f"{path} {one}":
            return error(
                f"Two packages of AMD's kernel driver are mixed: {path} of the new one is in {one} {other}.",
                evidence=shown(packages),
                fix=Fix(
                    "Keep one: remove the driver that is there (amdgpu-install --uninstall, older: "
                    "amdgpu-pro-uninstall; and remains of amdgpu-dkms and rock-dkms), reboot, then install ROCm "
                    "with its own driver, or without one where the kernel's amdgpu is enough",
                    shell("dpkg -l | grep -E 'amdgpu|rock-dkms'; dkms status"),
                    "reboots",
                    verify="dkms status",
                ),
                confidence="likely",
                explains=("dkms-kernel-mismatch", "kernel-module-not-loaded"),
            )
        return error(
            f"ROCm packages of two sources (AMD's repository and the distribution) are mixed: {how}.",
            evidence=shown(packages),
            fix=Fix(
                f"Use one source only: {_vendor_alone()}",
                _sources("rocminfo", "rocm-core", "hip-runtime-amd"),
                "manual",
                verify=_sources("rocminfo"),
            ),
            confidence="likely",
            explains=("missing-shared-library",),
        )
    messages = said(machine, *_LOADER)
    library = first_value(messages, "library") or f"a ROCm library ({first_value(messages, 'what') or 'ROCm'})"
    symbol = first_value(messages, "version", "symbol")
    releases = all_values(said(machine, "names-rocm-path"), "release")
    named = f" The text shows ROCm {' and '.join(sorted(releases))}." if len(releases) > 1 else ""
    return error(
        f"{library} was loaded from a different ROCm release than the program was built with"
        + (f": it has no {symbol}." if symbol else ".")
        + named,
        evidence=shown(messages),
        fix=Fix(
            "Keep only one ROCm release: unset LD_LIBRARY_PATH (wheels include their own libraries), remove "
            "old "
            "/opt/rocm-* folders or the distribution's packages, and reinstall the component that is too old",
            command="echo $LD_LIBRARY_PATH; ls -d /opt/rocm*; ldconfig -p | grep -E 'amdhip64|hsa-runtime'",
            verify="ldconfig -p | grep amdhip64",
        ),
        confidence="likely",
        explains=("missing-shared-library", "libc-or-abi-mismatch", "python-package-mismatch"),
    )


def _sources(*packages: str) -> ShellCommand:
    return shell("{words}", words=package_managers()["apt"].command("sources", packages))


def _vendor_alone() -> str:
    """The pin of the tables, then the packages of the archive out of the way: apt alone gives these messages."""
    apt, (file, pin) = package_managers()["apt"], vendor_first()
    removal = apt.command("remove", wanted_packages("archive-rocm")["apt"])
    return (
        f"{pin} in {file}, then {' '.join(apt.command('refresh'))}, remove the packages of the distribution "
        f"({' '.join(removal)}) and install again"
    )
