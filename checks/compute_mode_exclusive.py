"""The compute mode of a GPU restricts which programs may use it.

Why
  In the mode "Prohibited" no program can create a CUDA context on the GPU. In "Exclusive_Process" one process can: two
  ranks that share a GPU, a notebook that was left open, or a data loader worker that touches CUDA then fail with "all
  CUDA-capable devices are busy or unavailable". Clusters set it on purpose; one rank per GPU works well with it.

Fix
  `sudo nvidia-smi -c 0` sets the default mode again (`-i N` for one GPU). On a cluster ask the administrator first.

References
  https://docs.nvidia.com/deploy/nvidia-smi/index.html (Compute Mode)
  https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#compute-modes
"""

from __future__ import annotations

from rocdoctor.judging.check import Fix, Outcome, check, cite, each_nvidia_gpu, error, info
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.shell_command import ShellCommand, shell


@check(each_nvidia_gpu, cause="visible-devices-conflict")
def compute_mode_exclusive(machine: Machine, gpu: Gpu) -> Outcome:
    mode = known(gpu.compute_mode).strip().lower().replace(" ", "").replace(".", "_")
    number = value_or(gpu.smi_index, None)
    only = ShellCommand("") if number is None else shell(" -i {gpu}", gpu=number)
    fix = Fix(
        "Set the default compute mode",
        command=shell("sudo nvidia-smi{only} -c 0", only=only),
        safety="manual",
        verify="nvidia-smi -q -d COMPUTE",
    )
    if mode == "prohibited":
        # The card that shows the desktop is often closed to programs on purpose, so that they take the others.
        others = any(
            one is not gpu
            and one.vendor == "nvidia"
            and "prohibited" not in value_or(one.compute_mode, "prohibited").lower()
            for one in machine.gpus
        )
        message = "The compute mode of this GPU is Prohibited: no program may compute on it."
        if others:
            return info(
                f"{message} Other GPUs of this machine are open.", evidence=[cite(gpu.compute_mode)], fix=fix, cause=""
            )
        return error(
            message,
            evidence=[cite(gpu.compute_mode)],
            fix=fix,
            explains=("torch-sees-no-gpu", "torch-gpu-count-mismatch"),
        )
    if mode.startswith(("exclusive", "e_process", "e_thread")):
        return info(
            "The compute mode of this GPU is exclusive: one process at a time may use it, and a second one fails.",
            evidence=[cite(gpu.compute_mode)],
            fix=fix,
            cause="",
        )
    return None
