"""A Slurm job requested no GPU.

Why
  On clusters that constrain devices, a job sees only the GPUs that it requested. Without --gpus, --gres=gpu or a
  similar option, nvidia-smi and rocm-smi find none and torch says that no GPU is available, although the node has some.
  A partition named "gpu" does not give you any by itself.

Fix
  Request GPUs at the top of the script or on the command line (#SBATCH --gpus-per-node=8, srun --gres=gpu:1), and look
  at the variable that Slurm sets: CUDA_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES inside the job.

References
  https://slurm.schedmd.com/gres.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.commands import NO_GPU, misses_gpu, shown_command, when_commands
from rocdoctor.insight.texts.pasted import said, shown
from rocdoctor.judging.check import Fix, Outcome, check, error
from rocdoctor.model.facts import Machine

# What nvidia-smi says where the control group of the job hides every GPU.
_REFUSED = ("nvidia-not-loaded",)
_SLURM = ("sbatch", "srun", "salloc")
_ASKS = ("gpus", "gres", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "tres-per-node", "tres-per-task")


@check(when_commands(*_SLURM), cause="visible-devices-conflict")
def command_job_without_gpu(machine: Machine) -> Outcome:
    jobs = [one for one in machine.commands if one.program in _SLURM]
    heads = [one for one in jobs if one.program != "srun" or one.options]
    refused = misses_gpu(machine) or said(machine, *_REFUSED)
    if any(name in one.options for one in jobs for name in _ASKS) or not heads or not refused:
        return None
    if any(name.startswith("SLURM_") and "GPU" in name for name in machine.environment.variables):
        return None
    if not all(one.complete for one in jobs):
        return None
    return error(
        "The job asks Slurm for no GPU (neither --gpus nor --gres=gpu), so the GPUs of its node are hidden from it.",
        evidence=(*shown_command(heads[0]), *shown(said(machine, *NO_GPU, *_REFUSED))[:1]),
        fix=Fix(
            "Ask for GPUs: #SBATCH --gpus-per-node=1 (or --gres=gpu:1), and give srun and salloc "
            "the same option when you call them by hand",
            command="srun --gres=gpu:1 --pty bash -c 'env | grep VISIBLE_DEVICES'",
            safety="safe",
        ),
        confidence="likely",
        explains=("kernel-module-not-loaded", "wrong-backend-build", "driver-too-old", "driver-not-loaded-message"),
        finer="scheduler-gave-no-gpu",
    )
