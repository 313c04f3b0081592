"""AMD does not list the installed amdgpu driver and the installed ROCm release as compatible.

Why
  For each driver release (from amdgpu-install, built by DKMS) AMD lists the ROCm releases that run on it. Outside that
  list the two may still work, but nobody tested them together, and faults there are hard to tell apart from others. A
  driver that comes with the kernel has no such number and is not judged.

Fix
  Install the driver release that the ROCm release lists, or a ROCm release that the driver lists.

References
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/user-kernel-space-compat-matrix.html
  https://rocm.docs.amd.com/en/latest/compatibility/compatibility-matrix.html
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_stack import works
from rocdoctor.insight.texts.own_trouble import is_over_or_asked, trouble
from rocdoctor.insight.texts.pasted import said, shown
from rocdoctor.insight.texts.symptoms import crashes
from rocdoctor.judging.check import (
    Finding,
    Fix,
    Outcome,
    check,
    cite,
    info,
    machine_with_amd,
    not_applicable,
    unknown,
    warning,
)
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.lookup import driver_package, driver_supports, driver_window
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Unknown, known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Selected, Subjects
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.subject import MACHINE

_IMAGE = "rocm-of-image"
_IN_IT = regex(r"(?i)\b(?:container|image|docker|podman|in it|inside|gpus?|rocminfo|torch|hip)\b")
_FAILED = ("xla-query-failed", "runtime-init-failed", "no-hip-device", "hip-launch-failure", "torch-sees-no-gpu")


def _driver(machine: Machine) -> Fact[str]:
    told = machine.drivers.get("amdgpu", {}).get("version", NOT_ASKED)
    return told if isinstance(told, Known) else machine.kernel.module_versions.get("amdgpu", told)


def amd_or_its_image(machine: Machine) -> Subjects[None]:
    """The machine, when it has an AMD GPU, or a text names AMD's driver beside an image with ROCm."""
    named = said(machine, _IMAGE) and isinstance(_driver(machine), Known)
    return [Selected(MACHINE, None)] if named else machine_with_amd(machine)


@check(amd_or_its_image, cause="driver-library-mismatch")
def amdgpu_driver_window(machine: Machine) -> Outcome:
    driver = _driver(machine)
    if isinstance(driver, Unknown) and driver.reason == "absent":
        return not_applicable("the driver comes with the kernel and has no release number")
    package = driver_package(known(driver))
    if package is None:
        return not_applicable("the tables do not know the release of this driver")
    if (inside := _image(machine, driver, package)) is not None:
        return inside
    installs = [one for one in machine.rocm if isinstance(one.version, Known) and one.kind != "distribution"]
    if not installs:
        if machine.rocm_complete:
            return not_applicable("no ROCm packages from AMD are installed")
        raise unknown("which ROCm is installed is not in this evidence")
    answers = [driver_supports(package, known(one.version)) for one in installs]
    if True in answers:
        return None
    if None in answers:
        return not_applicable("the lists for this driver and this ROCm release do not settle it")
    rocm = known(installs[-1].version)
    window = driver_window(rocm)
    old = window is not None and window.min is not None and numbers(package) < numbers(window.min)
    listed = f" (listed: {window.min or '?'} to {window.max or '?'})" if window is not None else ""
    text = (
        f"Install a newer driver that lists ROCm {rocm}"
        if old
        else "Install a newer ROCm release that the driver lists"
    )
    # What is not on a list still works more often than not.
    return (info if works(machine, "rocm") else warning)(
        f"The amdgpu driver {package} is too {'old' if old else 'new'} for what AMD lists with ROCm {rocm}{listed}.",
        evidence=[cite(driver), *(cite(one.version) for one in installs)],
        cause="driver-too-old" if old else "driver-library-mismatch",
        fix=Fix(text, safety="reboots", effective="reboot"),
        confidence="likely",
    )


def _image(machine: Machine, driver: Fact[str], package: str) -> Finding | None:
    """A container brings a ROCm of its own, and the driver is the host's."""
    named = said(machine, _IMAGE)
    failed = (*crashes(machine), *said(machine, *_FAILED), *trouble(machine, _IN_IT))
    late = [one for one in named if driver_supports(package, str(one.values.get("release", ""))) is False]
    if not late or len(late) < len(named) or not failed or is_over_or_asked(machine):
        return None
    release = str(late[0].values["release"])
    window = driver_window(release)
    if window is None or window.min is None or numbers(package) >= numbers(window.min):
        return None
    return warning(
        f"The container includes ROCm {release}, and the amdgpu driver on the host is {value_or(driver, '')}, that of "
        f"release "
        f"{package}: older than AMD lists for it ({window.min} at least).",
        evidence=[cite(driver), *shown(late)[:1]],
        cause="driver-too-old",
        fix=Fix(
            f"Update the host driver (amdgpu-dkms {window.min} or newer, or a newer kernel), or use a container "
            f"of "
            f"ROCm {package} or one of the two releases after it; without root, only the second is possible",
            command="cat /sys/module/amdgpu/version; dkms status",
            safety="reboots",
            effective="reboot",
        ),
        confidence="likely",
    )
