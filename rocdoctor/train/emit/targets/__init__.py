"""The targets of ``rocdoctor emit``: one module each, loaded when it is asked for.

A target's module has ``FRAMEWORKS`` (whose conventions its files can express, the first preferred; see
``train.recommend.model.layout.Framework``), ``refuses(work)`` (why it cannot express a configuration, or None) and
``files(plan, order)``; ``TRANSFORMERS = True`` where the files are for the model code of Hugging Face, which needs more
memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from rocdoctor.model.facts import Machine
    from rocdoctor.train.emit.files import File
    from rocdoctor.train.recommend.model.layout import Framework
    from rocdoctor.train.recommend.model.spec import Work
    from rocdoctor.train.recommend.plan import Plan


@dataclass(frozen=True, slots=True)
class Order:
    """What the user says of the run beside the workload.

    ``script`` is the training program, ``script_arguments`` its own options; ``image`` a container image; ``job`` a
    name for schedulers; ``partition`` and ``time`` for Slurm (``time`` as HH:MM:SS). ``machine`` is the one that was
    looked at, for the profile; None where the fleet was only described. ``torchtitan``: its command is written too, so
    a launcher starts it.
    """

    script: str = "train.py"
    script_arguments: tuple[str, ...] = ()
    image: str | None = None
    job: str = "train"
    partition: str | None = None
    time: str | None = None
    machine: Machine | None = None
    torchtitan: bool = False


class TargetModule(Protocol):
    """The functions of a target's module."""

    FRAMEWORKS: tuple[Framework, ...]

    def refuses(self, work: Work) -> str | None:
        """Why this target cannot express a configuration, or None."""

    def files(self, plan: Plan, order: Order) -> Sequence[File]:
        """The files of a plan."""
        ...


TARGETS: Mapping[str, str] = {
    "env": "environment variables as an env file and as shell exports",
    "torchrun": "the torchrun command as a shell script",
    "accelerate": "the configuration of accelerate launch",
    "trainer": "arguments of the Hugging Face Trainer (FSDP, DDP)",
    "deepspeed": "the configuration of DeepSpeed",
    "trl": "the configuration of TRL (supervised fine-tuning)",
    "llamafactory": "the configuration of LLaMA-Factory",
    "axolotl": "the configuration of axolotl (LoRA and QLoRA)",
    "torchtitan": "the command of torchtitan",
    "megatron": "the arguments of Megatron-LM",
    "slurm": "a Slurm batch file",
    "kubernetes": "a Job and its headless service",
    "compose": "a docker compose file",
    "profile": "this machine and plan, to be checked later with check --profile",
}


def target(name: str) -> TargetModule:
    """The module of a target; KeyError for a name that is none."""
    if name not in TARGETS:
        raise KeyError(name)
    return cast(TargetModule, import_module(f"rocdoctor.train.emit.targets.{name}"))
