"""A program uses a GPU number that it cannot see.

Why
  "invalid device ordinal" means that the process sees fewer GPUs than it expects: a visibility variable left
  fewer (CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES), a launcher started more processes than
  GPUs, or the code has a number from another machine. Visible GPUs are renumbered from 0.

Fix
  Start as many processes as GPUs are visible, and use the local rank as device number. Set only one visibility
  variable.

References
  https://docs.nvidia.com/cuda/cuda-c-programming-guide/
  https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import first_value, said, shown, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error, warning
from rocdoctor.model.facts import Machine

_NAMES = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")


@check(when_said("invalid-ordinal", "visibility-differs"), cause="visible-devices-conflict")
def device_ordinal_message(machine: Machine) -> Outcome:
    if differ := said(machine, "visibility-differs"):
        hip, cuda = first_value(differ, "hip") or "", first_value(differ, "cuda") or ""
        return error(
            f"HIP_VISIBLE_DEVICES={hip} and CUDA_VISIBLE_DEVICES={cuda} choose different GPUs, and the program refuses "
            "to guess which one is meant.",
            evidence=shown(differ),
            fix=Fix(
                "Keep one of the two variables and unset the other",
                "unset CUDA_VISIBLE_DEVICES",
                "safe",
                unsets=("CUDA_VISIBLE_DEVICES",),
                verify="env | grep VISIBLE_DEVICES",
            ),
            confidence="certain",
        )
    messages = said(machine, "invalid-ordinal")
    variables = [machine.environment.variables[name] for name in _NAMES if name in machine.environment.variables]
    shown_values = ", ".join(f"{one.name}={one.value}" for one in variables)
    text = "The program asks for a GPU number that it cannot see (invalid device ordinal)"
    mig = said(machine, "mentions-mig")
    text += (
        ": with MIG a process can use one MIG device only, as its device 0, however many nvidia-smi lists."
        if mig
        else f": {shown_values} leaves it fewer GPUs, renumbered from 0."
        if variables
        else (": it expects more GPUs than it can see.")
    )
    if mig:
        return error(
            text,
            evidence=(*shown(messages), *shown(mig[:1])),
            fix=Fix(
                "Start each process with a MIG device of its own, CUDA_VISIBLE_DEVICES=MIG-UUID (nvidia-smi -L lists "
                "them), and let it use device 0; ranks that must exchange data over NCCL need whole GPUs, so switch "
                "MIG off for them",
                command="nvidia-smi -L",
            ),
            confidence="likely",
        )
    return (error if variables else warning)(
        text,
        evidence=shown(messages),
        fix=Fix(
            "Start as many processes as there are visible GPUs and choose the device by local rank; keep one of "
            "CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES and unset the others (numbers "
            "count from "
            "0 among the GPUs that are left)",
            command="env | grep VISIBLE_DEVICES; python3 -c 'import torch; print(torch.cuda.device_count())'",
            safety="safe",
        ),
        confidence="likely" if variables else "possible",
    )
