"""The installed ROCm release does not list this GPU as supported.

Why
  For each ROCm release, AMD lists the GPUs that it was tested on. A GPU that is older than the list usually still works
  for a while; one that is newer has no code in the libraries at all. Being off the list is not a fault by itself: many
  Radeon cards were never on it and train well.

Fix
  If the GPU is newer than the release, install a newer ROCm. If it is older and something fails, stay with the last
  release that lists it.

References
  https://rocm.docs.amd.com/en/latest/compatibility/compatibility-matrix.html
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.gfx_override import physical_gfx
from rocdoctor.insight.software.torch_stack import works
from rocdoctor.judging.check import (
    Fix,
    Outcome,
    check,
    cite,
    each_discrete_amd_gpu,
    info,
    not_applicable,
    unknown,
    warning,
)
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.lookup import RocmRelease, gfx_target, rocm_release, rocm_releases, same_isa_group
from rocdoctor.model.evidence import Known, known
from rocdoctor.model.facts import Gpu, Machine


def _first(row: RocmRelease) -> tuple[int, ...]:
    return numbers(row.series[0])


@check(each_discrete_amd_gpu, cause="gpu-arch-not-built")
def rocm_gpu_support_window(machine: Machine, gpu: Gpu) -> Outcome:
    installs = [one for one in machine.rocm if isinstance(one.version, Known) and one.kind != "distribution"]
    if not installs:
        if machine.rocm_complete:
            return not_applicable("no ROCm packages from AMD are installed")
        raise unknown("which ROCm is installed is not in this evidence")
    gfx = known(physical_gfx(machine, gpu))
    if gfx_target(gfx) is None:
        raise unknown(f"{gfx} is not in the tables", "undecided")
    rows = [(one, rocm_release(known(one.version))) for one in installs]
    if any(row is None or row.gfx is None or not row.complete for _, row in rows):
        return not_applicable("the tables do not have the whole GPU list of this ROCm release")
    lists = [(one, row) for one, row in rows if row is not None and row.gfx is not None]
    if any(gfx in (row.gfx or ()) for _, row in lists):
        return None
    install, row = max(lists, key=lambda pair: numbers(known(pair[0].version)))
    evidence = [cite(gpu.gfx, gfx), cite(install.version)]
    version = known(install.version)
    if gfx in row.gfx_deprecated:
        return info(
            f"ROCm {version} still runs {gfx}, but its support is ending.",
            evidence=evidence,
            fix=Fix(
                "Stay on this series of ROCm for this GPU, and read the release notes before an update", safety="manual"
            ),
        )
    listed = [one for one in rocm_releases() if gfx in (one.gfx or ())]
    later = [one for one in listed if _first(one) > _first(row)]
    newer = later and not any(_first(one) <= _first(row) for one in listed)
    if newer and not any(same_isa_group(gfx, one) for one in row.gfx or ()):
        first = min(later, key=_first).series[0]
        # A wheel brings a ROCm of its own.
        return (info if works(machine, "rocm") else warning)(
            f"ROCm {version} is older than {gfx}: its list has no GPU of this family (that of "
            f"ROCm {first} has this one).",
            evidence=evidence,
            fix=Fix(f"Install ROCm {first} or newer", safety="manual", verify="rocminfo | grep gfx"),
            confidence="likely",
        )
    return info(
        f"ROCm {version} does not list {gfx} among its supported GPUs; that is not a fault by itself.",
        evidence=evidence,
        fix=Fix("If libraries fail on it, use a release or a build that lists it", safety="manual"),
    )
