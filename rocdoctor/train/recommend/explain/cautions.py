"""What an estimate does not see: a configuration that runs out of something else than memory, or trains wrongly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rocdoctor.knowledge.load import numbers
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.fit import SHARE
from rocdoctor.train.recommend.memory.gpu_memory import GpuMemory, weight_bytes
from rocdoctor.train.recommend.memory.step_memory import moments_copy
from rocdoctor.train.recommend.model.spec import Work

# Versions of the libraries in the interpreter by name, None where nobody could list them.
Packages = Mapping[str, str] | None


def cautions(work: Work, found: GpuMemory, packages: Packages = None) -> Iterator[str]:
    """One sentence or two for each; what an installed version settles is not said."""
    yield from _positions(work)
    yield from _sharded_bitsandbytes(work)
    yield from _shifted_copies(work, found, packages)
    yield from _cast_by_accelerate(work, found, packages)
    yield from _copied_moments(work, found, packages)
    yield from _held_moments(work)


def _installed(packages: Packages, *names: str) -> tuple[str, tuple[int, ...]]:
    """The version of the first of these that is there, as it is written and in numbers; empty where none is known."""
    found = next((packages[name] for name in names if name in packages), "") if packages else ""
    return found, numbers(found)


def _positions(work: Work) -> Iterator[str]:
    most = work.model.positions
    if most is None or work.seq <= most:
        return
    yield (
        f"Sequences of {work.seq} tokens exceed the {most} positions that {work.model.name} supports. "
        f"To pretrain, raise max_position_embeddings. To fine-tune, use sequences of {most}, or stretch rotary "
        f"positions {-(-work.seq // most)} times with rope_scaling (YaRN). A learned table of positions cannot be "
        "stretched."
    )


def _sharded_bitsandbytes(work: Work) -> Iterator[str]:
    """bitsandbytes makes its states like the weight and hands both to its kernels (``get_state_buffer`` and
    ``update_step`` of bitsandbytes/optim/optimizer.py, August 2026; its issue 1633: illegal memory access). FSDP2 makes
    DTensors of weights, of which torchao takes the local part (pytorch/ao, torchao/optim). Read 2026-11-28."""
    if work.optimizer == "adam8bit" and work.framework == "fsdp2" and not work.torchao:
        yield (
            "bitsandbytes' 8-bit Adam does not support FSDP2's sharded weights (its kernels crash with illegal memory "
            "accesses). Use torchao's AdamW8bit (the Trainer's adamw_torch_8bit), or DistributedDataParallel."
        )


def _held_moments(work: Work) -> Iterator[str]:
    """What a second moment in bf16 cannot follow; tried with torch 2.13 (train/emit/targets/trainer.py)."""
    if work.pure_bf16 and work.optimizer == "adam" and not work.step_in_backward:
        yield (
            "With AdamW's usual beta2 of 0.999, second moments in bf16 hardly decrease: a step "
            "changes them by less than "
            "bf16 can represent. Use 0.95 (adam_beta2 of the Trainer)."
        )


def _shifted_copies(work: Work, found: GpuMemory, packages: Packages) -> Iterator[str]:
    """Transformers copied fp32 logits to shift them until pull request 35646: ``ForCausalLMLoss`` of loss/loss_utils.py
    in the wheels of 4.48.3 and 4.49.0, read 2026-11-29."""
    if not work.transformers or work.loss != "plain" or work.parallel.tp > 1:
        return
    version, release = _installed(packages, "transformers")
    more = 4.0 * work.tokens * work.model.vocab
    limit = SHARE * work.gpu.usable_bytes
    if release >= (4, 49) or not found.high <= limit < found.high + more:
        return
    if release:
        yield (
            f"Transformers {version} is installed, which makes another copy of the logits ({more / GIB:.1f} GiB). With "
            "that copy the plan may not fit, so update Transformers to 4.49 or later."
        )
        return
    yield (
        f"This plan assumes Transformers 4.49 (2025) or later. Older versions make another copy of the logits "
        f"({more / GIB:.1f} GiB), and then the plan may not fit."
    )


def _cast_by_accelerate(work: Work, found: GpuMemory, packages: Packages) -> Iterator[str]:
    """What accelerate casts to fp32 before FSDP2 shards it: the whole model up to 1.12, frozen weights included (its
    issue 3844); what is trained from 1.13 on, where 1.13 itself drops the result (``fsdp2_prepare_model`` of
    utils/fsdp_utils.py in the wheels of 1.10.1, 1.12.0, 1.13.0 and 1.14.0, read 2026-11-30)."""
    mixed = work.precision in ("bf16", "fp16") and not work.pure_bf16
    if work.framework != "fsdp2" or work.parallel.zero < 3 or not work.transformers or work.own_adapters or not mixed:
        return
    version, release = _installed(packages, "accelerate")
    if work.method == "full":
        if release[:2] == (1, 13):
            yield (
                f"accelerate {version} is installed, which trains a model loaded in 16 bits without fp32 weights under "
                "FSDP2, so small updates are lost. Use 1.14 or later, or load the model in fp32."
            )
        return
    limit = SHARE * work.gpu.usable_bytes
    more = weight_bytes(work)
    if work.method != "lora" or work.parallel.offload_weights or release >= (1, 13):
        return
    if release:
        room = "" if found.high + more <= limit else ", and with it the plan may not fit"
        yield (
            f"accelerate {version} is installed, which also casts frozen weights to fp32 under FSDP2. That takes "
            f"{more / GIB:.1f} GiB more{room}, so update accelerate to 1.14 or later."
        )
    elif found.high <= limit < found.high + more:
        yield (
            "This plan assumes accelerate 1.14 (2026) or later. Up to 1.12 it also casts frozen weights to fp32 under "
            f"FSDP2, which takes {more / GIB:.1f} GiB more, and then the plan may not fit."
        )


def _copied_moments(work: Work, found: GpuMemory, packages: Packages) -> Iterator[str]:
    """bf16 moments came with Transformer Engine 2.3 (commit 86928e07e) and megatron-core 0.13 (``--exp-avg-dtype`` of
    megatron/training/arguments.py; 0.12.3 has fp32, fp16 and fp8). AMD's fork follows the versions, 2.17 as last seen
    (build_tools/VERSION.txt), and has its kernel (common/multi_tensor/adam.cu). Read 2026-11-29."""
    more = moments_copy(work)
    if not more:
        return
    core, core_release = _installed(packages, "megatron-core")
    if core_release and core_release < (0, 13):
        yield f"megatron-core {core} is installed, but moments in bf16 need 0.13 or later: update it first."
    version, release = _installed(packages, "transformer-engine", "transformer-engine-torch")
    room = found.states + more + found.context <= SHARE * work.gpu.usable_bytes
    needed = (2, 3) if room else (2, 14)
    if release >= needed:
        return
    least = ".".join(map(str, needed))
    why = (
        ""
        if room
        else (
            f" Releases 2.3 to 2.13 copy the moments to fp32 in each step. That takes {more / GIB:.1f} GiB more, which "
            "does not fit."
        )
    )
    if release:
        yield (
            f"TransformerEngine {version} is installed, but moments in bf16 need {least} or later, on ROCm too: "
            f"update it first.{why}"
        )
        return
    if packages is not None:
        look = "the interpreter that was examined has none"
    else:
        look = "check first with `pip show transformer_engine`"
    yield f"Moments in bf16 need TransformerEngine {least} or later, on ROCm too: {look}.{why}"
