"""ROCm packages do not install: AMD does not build this ROCm release for this distribution release.

Why
  AMD builds the packages of each ROCm release for certain distribution releases. On another one, they need libraries in
  versions that it does not have, or its installer refuses. ROCm in a wheel or a container does not depend on that.

Fix
  Install a ROCm release that lists this system, or use a container image or wheels.

References
  https://rocm.docs.amd.com/en/latest/compatibility/compatibility-matrix.html
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.own_trouble import names_several, trouble, when_trouble_is_told
from rocdoctor.insight.texts.pasted import all_values, in_container, said, shown
from rocdoctor.judging.check import Fix, Outcome, check, cite, not_applicable, warning
from rocdoctor.knowledge.software.combinations import rocm_lists_system
from rocdoctor.model.evidence import Known, known
from rocdoctor.model.facts import Machine
from rocdoctor.model.lazy_re import regex

_INSTALLING = regex(
    r"(?i)\b(?:install\w*|packages?|dependenc\w+|apt|dnf|yum|zypper|resolve|refuses?|repositor(?:y|ies)|libc6|upgrade)\b"
)
_BOX = regex(r"(?i)\b(?:containers?|docker|podman|distrobox|toolbox|image)\b")
_UNMET = ("rocm-dependency-unmet", "packages-refused")


@check(when_trouble_is_told(_INSTALLING, *_UNMET), cause="libc-or-abi-mismatch")
def rocm_for_other_system(machine: Machine) -> Outcome:
    named = {one.version.value for one in machine.rocm if isinstance(one.version, Known)}
    named |= set(all_values(said(machine, "amdgpu-install-named"), "release"))
    lines = {".".join(one.split(".")[:2]) for one in named}
    boxed = in_container(machine) or any(_BOX.search(one) for one in machine.told.sentences)
    if len(lines) != 1 or boxed or names_several(machine, "rocm"):
        return not_applicable("not one release of ROCm is known on a system of its own")
    release = max(named, key=len)
    system, version = known(machine.os.id), known(machine.os.version_id)
    answer = rocm_lists_system(release, system.lower(), version)
    if answer is None or answer[0]:
        return None
    pretty = machine.os.pretty_name.value if isinstance(machine.os.pretty_name, Known) else f"{system} {version}"
    listed = f"it lists {' and '.join(answer[1])}" if answer[1] else "it lists no release of this distribution"
    return warning(
        f"AMD makes no packages of ROCm {release} for {pretty} ({listed}), and they do not install here.",
        evidence=(*shown(trouble(machine, _INSTALLING, *_UNMET))[:1], cite(machine.os.version_id)),
        fix=Fix(
            "Install a ROCm release that lists this system, or leave the system as it is and use AMD's container "
            "images or wheels, which include ROCm",
            command="cat /etc/os-release; grep -rn radeon /etc/apt/sources.list.d /etc/yum.repos.d",
            safety="manual",
        ),
        confidence="possible",
        explains=("mixed-rocm-installs", "like-known-reports"),
    )
