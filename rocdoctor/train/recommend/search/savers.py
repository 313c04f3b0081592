"""Settings that save memory and cost something else: time, a package, or a change of the training itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.model.spec import Loss, Optimizer, Work
from rocdoctor.train.recommend.plan import Fleet, Workload
from rocdoctor.train.recommend.software import eight_bit_optimizer


@dataclass(frozen=True, slots=True)
class Saver:
    """One set of such settings; ``level`` as of a candidate, ``offload`` what moves to main memory."""

    name: str
    level: float
    optimizer: Optimizer = "adam"
    loss: Loss = "plain"
    pure_bf16: bool = False
    offload: str = ""  # "" , "optimizer", "all", "paged" (8-bit states that move between GPU and host)
    step_in_backward: bool = False

    @property
    def alters(self) -> bool:
        """Whether it changes more than how the same step is computed on the GPU."""
        return self.optimizer != "adam" or self.pure_bf16 or bool(self.offload)

    @property
    def usual(self) -> bool:
        """Whether recipes begin with it although it changes the training: ``dtype: bf16`` in torchtune's configurations
        of full fine-tuning (meta-pytorch/torchtune, recipes/configs/llama3_1/8B_full_single_device.yaml, read
        2026-11-28)."""
        return self.pure_bf16 and self.optimizer == "adam" and not self.offload


PLAIN = Saver("", 0.0)
# In the order in which they are asked for: the first that makes it fit is enough. A fused loss computes the same step
# and is compared with none at all. States in main memory come last: they cost most time.
SAVERS = (
    Saver("a fused loss", 0.5, loss="fused"),
    Saver("16-bit states", 1.0, pure_bf16=True),
    Saver("16-bit states and a fused loss", 1.5, loss="fused", pure_bf16=True),
    # fp32 gradients and weights, moments in bf16: recipes/deepseek/h100/deepseek_v4.py of NVIDIA-NeMo/Megatron-Bridge
    # (that of deepseek_v3.py has gradients in bf16 too), read 2026-11-28.
    Saver("16-bit moments", 1.0, optimizer="adam16bit"),
    Saver("8-bit Adam", 1.0, optimizer="adam8bit"),
    Saver("8-bit Adam and a fused loss", 1.5, optimizer="adam8bit", loss="fused"),
    Saver("16-bit weights, 8-bit Adam and a fused loss", 2.0, optimizer="adam8bit", loss="fused", pure_bf16=True),
    Saver(
        "16-bit weights, 8-bit Adam that steps in the backward pass and a fused loss",
        4.0,
        optimizer="adam8bit",
        loss="fused",
        pure_bf16=True,
        step_in_backward=True,
    ),
    Saver("the optimizer in main memory", 2.0, offload="optimizer"),
    Saver("weights and optimizer in main memory", 2.5, offload="all"),
    Saver("weights and optimizer in main memory and a fused loss", 3.0, offload="all", loss="fused"),
    Saver(
        "16-bit weights, paged 8-bit Adam that steps in the backward pass and a fused loss",
        5.0,
        optimizer="adam8bit",
        loss="fused",
        pure_bf16=True,
        offload="paged",
        step_in_backward=True,
    ),
)


def savers_of(fleet: Fleet, workload: Workload) -> tuple[Saver, ...]:
    """The memory savers that can work on this fleet."""
    eight = eight_bit_optimizer(fleet).state != "no"
    return tuple(one for one in SAVERS if _suits(one, fleet, workload, eight))


def _suits(one: Saver, fleet: Fleet, workload: Workload, eight: bool) -> bool:
    whole = workload.method in ("pretrain", "full")
    if one.optimizer == "adam8bit" and not eight:
        return False
    if one.optimizer == "adam16bit" and workload.method != "pretrain":
        return False
    # Paged states need memory that the driver moves; on ROCm nobody is known to have measured them.
    if one.offload == "paged" and fleet.vendor != "nvidia":
        return False
    # States of adapters are small: only their frozen weights are worth moving.
    if (one.optimizer == "adam8bit" or one.offload == "optimizer") and not whole:
        return False
    # Weights that are trained from nothing lose too much in 16 bits; those of a finished model are loaded in them.
    if one.pure_bf16 and (workload.method != "full" or fleet.vendor == "cpu"):
        return False
    # Fused losses are kernels for GPUs, in the model code of Hugging Face.
    return not (one.loss == "fused" and (workload.method == "pretrain" or fleet.vendor == "cpu"))


def offloads(framework: Framework, saver: Saver) -> bool:
    """FSDP2 moves weights, gradients and optimizer together, DeepSpeed the optimizer alone too."""
    if saver.offload == "paged":
        return framework == "ddp"
    return framework == "deepspeed" or (framework == "fsdp2" and saver.offload == "all")


def applied(base: Work, saver: Saver) -> Work | None:
    """A configuration with what a saver sets (but for what it moves), None where its framework has no such thing."""
    if saver.offload and not offloads(base.framework, saver):
        return None
    if saver.optimizer != "adam" and base.method != "full":
        return None
    if saver.optimizer == "adam8bit" and base.framework != "ddp":
        return (
            None  # bitsandbytes does not know sharded tensors, DeepSpeed and Megatron-LM have optimizers of their own
        )
    if saver.optimizer == "adam16bit" and base.framework != "megatron":
        return None
    if saver.step_in_backward and base.gpus > 1:
        return None  # reducing gradients over ranks and freeing them at once is no wrapper's
    if saver.pure_bf16 and (base.precision != "bf16" or base.framework not in ("ddp", "fsdp2")):
        return None
    loss = saver.loss if saver.loss != "plain" else base.loss
    return replace(
        base,
        optimizer=saver.optimizer,
        loss=loss,
        pure_bf16=base.pure_bf16 or saver.pure_bf16,
        step_in_backward=saver.step_in_backward,
    )
