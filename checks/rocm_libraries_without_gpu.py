"""The libraries of this ROCm release have no files for this GPU.

Why
  rocBLAS is shipped with kernels for a list of targets. From ROCm 6.4 on it has none for gfx900 and gfx906 (Vega, MI50,
  MI60, Radeon VII), though the runtime still finds these GPUs. The first matrix product then ends the program.

Fix
  Use ROCm 6.3, or rocBLAS built for the target.

References
  https://github.com/ROCm/legacy-rocm-build/issues/4625
  https://github.com/ROCm/legacy-rocm-build/issues/6049
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_stack import rocm_label, works
from rocdoctor.insight.texts.own_trouble import names_several, trouble, when_trouble_is_told
from rocdoctor.insight.texts.pasted import shown, training_gpus
from rocdoctor.judging.check import Fix, Outcome, check, cite, not_applicable, warning
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.software.compat import rocblas_lacks
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Machine


@check(when_trouble_is_told(), cause="kernel-lib-arch-unsupported")
def rocm_libraries_without_gpu(machine: Machine) -> Outcome:
    if names_several(machine, "rocm", "torch"):
        return not_applicable("the text names several versions")
    label = rocm_label(machine.torch)
    facts = [one.version for one in machine.rocm if isinstance(one.version, Known)]
    release = label or (max((one.value for one in facts), key=numbers) if facts else None)
    gpus = [gpu for gpu in training_gpus(machine) if gpu.vendor in ("amd", "nvidia")]
    if release is None or not gpus or works(machine, "rocm"):
        return not_applicable("no GPU or no release of ROCm is known, or torch works")
    targets = [gpu.gfx.value if isinstance(gpu.gfx, Known) else "" for gpu in gpus]
    if not all(rocblas_lacks(f"rocm{release}", gfx) for gfx in targets):
        return None
    gpu, gfx = gpus[0], targets[0]
    name = value_or(gpu.name, "")
    where = f"torch's build for ROCm {release}" if label else f"ROCm {release}"
    return warning(
        f"rocBLAS of {where} has no files for {gfx}{f' ({name})' if name else ''}: every matrix product fails there.",
        evidence=(
            *shown(trouble(machine))[:1],
            cite(gpu.gfx, gfx),
            cite(machine.torch.version if label else facts[0]),
        ),
        fix=Fix(
            "Use the last release that has them (for gfx900 and gfx906 ROCm 6.3 and torch built for it), or build "
            f"rocBLAS for {gfx}",
            command="rocminfo | grep gfx; ls /opt/rocm/lib/rocblas/library | grep -o 'gfx[0-9a-f]*' | sort | uniq -c",
            safety="manual",
        ),
        confidence="possible",
        explains=("gpu-arch-not-built", "like-known-reports"),
    )
