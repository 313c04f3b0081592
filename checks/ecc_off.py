"""ECC is off on a data-center GPU, or its mode is about to change.

Why
  With ECC off, a bit that flips in GPU memory is neither corrected nor reported: it may show as a loss that jumps or as
  a checkpoint that differs. Some sites turn it off on boards with GDDR memory to gain a little memory. A mode change
  waits for the next GPU reset, when usable memory changes too.

Fix
  `sudo nvidia-smi -e 1` (`-i N` for one GPU), then reboot or reset the GPU.

References
  https://docs.nvidia.com/deploy/nvidia-smi/index.html (ECC Mode)
"""

from __future__ import annotations

from rocdoctor.insight.gpus.nvidia import is_server_part
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_nvidia_gpu, info, not_applicable
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.shell_command import ShellCommand, shell

_WORDS = {True: "on", False: "off"}


@check(each_nvidia_gpu)
def ecc_off(machine: Machine, gpu: Gpu) -> Outcome:
    if not isinstance(gpu.ecc_enabled, Known) and not is_server_part(gpu):
        return not_applicable("this GPU is not known to have ECC memory")
    enabled = known(gpu.ecc_enabled)
    pending = value_or(gpu.ecc_pending, enabled)
    number = value_or(gpu.smi_index, None)
    only = ShellCommand("") if number is None else shell(" -i {gpu}", gpu=number)
    if pending != enabled:
        return info(
            f"ECC is {_WORDS[enabled]} and will be {_WORDS[pending]} after the next reset of this GPU.",
            evidence=[
                cite(gpu.ecc_enabled, f"ECC {_WORDS[enabled]}"),
                cite(gpu.ecc_pending, f"{_WORDS[pending]} pending"),
            ],
            fix=Fix("Reboot, or reset the GPU while nothing runs on it", safety="reboots", effective="reboot"),
        )
    # On workstation cards it is off when they are delivered.
    if enabled or not is_server_part(gpu):
        return None
    return info(
        "ECC is off: errors in the memory of this GPU are neither corrected nor reported.",
        evidence=[cite(gpu.ecc_enabled, "ECC off")],
        fix=Fix(
            "Turn ECC on, unless it was turned off on purpose",
            command=shell("sudo nvidia-smi{only} -e 1", only=only),
            safety="reboots",
            effective="reboot",
            verify="nvidia-smi -q -d ECC",
        ),
    )
