"""torch is built for a CUDA release whose builds have no code for this NVIDIA GPU.

Why
  CUDA 12 compiles nothing for Kepler, CUDA 13 nothing before Turing, and torch's builds for CUDA 12.8 and 12.9 have no
  code for GPUs older than Volta. Such a torch sees the GPU, but the first kernel fails.

Fix
  Install torch built for an older CUDA release.

References
  https://github.com/pytorch/pytorch/issues/157517
  https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_stack import backend, local_part, works
from rocdoctor.insight.texts.own_trouble import names_several, trouble, when_trouble_is_told
from rocdoctor.insight.texts.pasted import shown, training_gpus
from rocdoctor.judging.check import Fix, Outcome, check, cite, not_applicable, warning
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.software.combinations import cuda_left
from rocdoctor.knowledge.software.wheel_indexes import cuda_rows, install_torch, wheel_url
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.lazy_re import regex

_LABEL = regex(r"cu(\d\d)(\d)\Z")


@check(when_trouble_is_told(), cause="gpu-arch-not-built")
def torch_cuda_unlike_gpu(machine: Machine) -> Outcome:
    if names_several(machine, "torch"):
        return not_applicable("the text names several versions")
    version = value_or(machine.torch.version, None)
    label = _LABEL.match(local_part(version or "").rstrip("."))
    gpus = [gpu for gpu in training_gpus(machine) if gpu.vendor in ("amd", "nvidia")]
    if version is None or label is None or not gpus or value_or(backend(machine.torch), "") != "cuda":
        return not_applicable("no NVIDIA GPU beside a torch for a known CUDA release")
    if isinstance(machine.torch.arch_list, Known) or (works(machine) and machine.torch.arch_list_complete):
        return not_applicable("other checks judge the list of architectures")
    cuda = f"{label[1]}.{label[2]}"
    levels = [gpu.compute_capability.value if isinstance(gpu.compute_capability, Known) else "" for gpu in gpus]
    left = [cuda_left(level, cuda) for level in levels]
    if None in left:
        return None
    gpu, level = gpus[0], levels[0]
    name = value_or(gpu.name, "The GPU")
    row = cuda_rows(level)[0] if numbers(level) >= (5, 0) else None
    older = row["flavour"] if row is not None else None
    way = f"Install torch from the index {older}" if older else f"Install torch built for a CUDA older than {left[0]}"
    return warning(
        f"torch {version} has no code for {name} (compute capability {level}): its builds for CUDA {left[0]} and newer "
        "leave it out.",
        evidence=(*shown(trouble(machine))[:1], cite(machine.torch.version), cite(gpu.compute_capability, level)),
        fix=Fix(
            way,
            command=install_torch(wheel_url(older) if older else None),
            safety="risky",
            verify='python3 -c "import torch; print(torch.cuda.get_arch_list())"',
        ),
        confidence="likely",
        explains=("kernel-lib-arch-unsupported", "like-known-reports", "no-kernel-image-message"),
    )
