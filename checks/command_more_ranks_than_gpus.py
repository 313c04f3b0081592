"""A launcher starts more processes than there are GPUs for them.

Why
  torchrun, accelerate, deepspeed and serving engines start one process for each GPU, and each takes the GPU of its
  local rank. If it starts more processes than there are visible GPUs, the highest ranks ask for a GPU that does not
  exist ("invalid device ordinal") or share one ("Duplicate GPU detected"). Variables such as CUDA_VISIBLE_DEVICES and
  HIP_VISIBLE_DEVICES reduce the number of visible GPUs.

Fix
  Give the launcher the number of visible GPUs, or let it count them (torchrun --nproc_per_node=gpu). accelerate's
  configuration files keep an old number: run `accelerate config` again after the machine has changed.

References
  https://docs.pytorch.org/docs/stable/elastic/run.html
  https://huggingface.co/docs/accelerate/package_reference/cli
"""

from __future__ import annotations

from rocdoctor.insight.texts.commands import LAUNCHERS, ranks_of, shown_command, visible_to, when_commands
from rocdoctor.insight.texts.pasted import said, shown
from rocdoctor.judging.check import Fix, Outcome, check, error
from rocdoctor.model.facts import Machine

_SYMPTOMS = ("invalid-ordinal", "duplicate-gpu", "world-larger-than-gpus")


@check(when_commands(*LAUNCHERS), cause="visible-devices-conflict")
def command_more_ranks_than_gpus(machine: Machine) -> Outcome:
    symptoms = said(machine, *_SYMPTOMS)
    for one in machine.commands:
        ranks = ranks_of(one) if one.program in LAUNCHERS else None
        if ranks is None:
            continue
        count, option = ranks
        visible = visible_to(one, machine)
        if visible is not None and count <= visible[0]:
            continue
        if visible is None and (not symptoms or count == 1):
            continue
        seen = f", and {visible[1]} leaves {_gpus(visible[0])}" if visible else ""
        return error(
            f"The launcher starts {count} processes ({option}), each for its own GPU{seen}: "
            + ("the others find none." if visible else "fewer GPUs are visible."),
            evidence=(*shown_command(one), *shown(symptoms)[:1]),
            fix=Fix(
                f"Start as many processes as GPUs are visible: {option.split(' ')[0]}"
                f"{f' {visible[0]}' if visible else ' with the number that torch.cuda.device_count() gives'}"
                ", or unset the variable that hides the others",
                command="python3 -c 'import torch; print(torch.cuda.device_count())'",
                safety="safe",
            ),
            confidence="likely",
            explains=("device-ordinal-message",),
            finer="more-ranks-than-gpus",
        )
    return None


def _gpus(count: int) -> str:
    return "one GPU" if count == 1 else f"{count} GPUs"
