"""A training configuration as the estimate needs it: read, completed and checked.

What is missing is derived and named in ``why``; what cannot be is a SpecError with the reason and the nearest valid
value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rocdoctor.train.recommend.errors import SpecError, flag, nearest_divisor, table, whole
from rocdoctor.train.recommend.fleet.gpu_figures import GpuFigures, read_gpu
from rocdoctor.train.recommend.model.adapters import read_adapted
from rocdoctor.train.recommend.model.layout import Framework, Parallel, framework_of, read_parallel
from rocdoctor.train.recommend.model.models import read_model
from rocdoctor.train.recommend.model.shapes import Model

Recompute = Literal["none", "selective", "selective-op", "full"]
Precision = Literal["bf16", "fp16", "fp32", "fp8", "fp8-rowwise"]
Optimizer = Literal["adam", "adam16bit", "adam8bit", "sgd", "momentum", "adafactor"]
Loss = Literal["plain", "fused", "chunked", "inplace", "compiled", "native"]


@dataclass(frozen=True, slots=True)
class Work:
    """One training configuration; ``micro_batch`` in sequences, ``microbatches`` a step and data-parallel rank.

    ``step_in_backward``: each weight is updated as soon as its gradient is there, which is freed then: nothing is
    accumulated (PyTorch's tutorial "How to save memory by fusing the optimizer step into the backward pass", read
    2026-11-28). ``transformers``: the model code of Hugging Face, which writes norms and the loss out in fp32.
    ``torchao``: 8-bit states are those of torchao, in place of bitsandbytes'. ``adapted``: the linear layers that have
    adapters, None for all. ``foreach``: the optimizer takes torch's foreach form, which copies gradients. ``wide``:
    norms in fp32 beside frozen weights, which leave the residual stream in fp32. ``prepared``: so are embedding and
    head beside 4-bit weights. ``small_experts``: experts are in 4 bits too. ``doubled``: 8-bit copies of the weights
    stay beside those in 16 bits. ``growing``: segments of the allocator grow (``expandable_segments:True``).
    ``bucket``: gradients that DeepSpeed reduces at a time, None for its default. ``loss_alone``: the fused loss is not
    Liger's, whose kernels compute norms, rotations and the gate as well. ``own_adapters``: adapters are not PEFT's and
    have the type of the weights. ``unsaid``: fields that say too little, and
    memory depends on them (``memory/unsaid.py``).
    """

    model: Model
    gpu: GpuFigures
    gpus: int
    seq: int
    micro_batch: int
    microbatches: int
    parallel: Parallel
    framework: Framework
    recompute: Recompute
    recompute_layers: int | None
    precision: Precision
    compile: bool
    flash: bool
    attention: str
    loss: Loss
    transformers: bool
    method: Literal["full", "lora", "qlora"]
    lora_rank: int
    optimizer: Optimizer
    pure_bf16: bool
    step_in_backward: bool = False
    torchao: bool = False
    adapted: tuple[str, ...] | None = None
    foreach: bool = False
    wide: bool = False
    prepared: bool = False
    small_experts: bool = False
    doubled: bool = False
    growing: bool = False
    bucket: int | None = None
    loss_alone: bool = False
    own_adapters: bool = False
    unsaid: frozenset[str] = field(default=frozenset(), compare=False)

    def reads_input(self, *parts: str) -> bool:
        """Whether one of these linear layers needs its input in the backward pass: a frozen one without adapter does
        not."""
        return self.method == "full" or self.adapted is None or any(one in self.adapted for one in parts)

    @property
    def tokens(self) -> float:
        """Tokens of one micro-batch on one GPU (context parallelism divides the sequence)."""
        return self.micro_batch * self.seq / self.parallel.cp

    @property
    def liger(self) -> bool:
        """Whether Liger's kernels compute the layers too."""
        return self.loss == "fused" and not self.loss_alone

    @property
    def paged(self) -> bool:
        """Whether 8-bit states lie in memory that moves between GPU and host (bitsandbytes' paged optimizers)."""
        return self.optimizer == "adam8bit" and self.parallel.offload_optimizer

    @property
    def sums_in_16(self) -> bool:
        """Whether FSDP2 sums gradients over ranks in 16 bits: torchtitan does it in fp32, accelerate in the type of the
        products (``set_mixed_precision`` of accelerate/utils/dataclasses.py, 1.6 to 1.9, read 2026-11-29)."""
        return self.precision != "fp32" and (self.transformers or self.pure_bf16)


_OPTIMIZERS: tuple[tuple[str, Optimizer], ...] = (
    ("8bit|8-bit|int8", "adam8bit"),
    ("bf16.?moments|precision.?aware", "adam16bit"),
    ("adafactor", "adafactor"),
    ("adam|lion", "adam"),
    ("momentum|muon", "momentum"),
    ("sgd", "sgd"),
)


def _precision(raw: Any) -> Precision:
    text = str(raw or "bf16")[:40].lower()
    if "fp8" in text or "float8" in text or "mxfp8" in text:
        return "fp8-rowwise" if "row" in text else "fp8"
    if "bf16" in text or "bfloat16" in text:
        return "bf16"
    if "fp16" in text or "float16" in text or text == "half":
        return "fp16"
    if "32" in text:
        return "fp32"
    raise SpecError(f"precision '{text}' is not known; nearest: bf16")


def _recompute(raw: Any) -> Recompute:
    text = str(raw)[:60].lower()
    if text in {"none", "false", "no", "off", "0", ""}:
        return "none"
    if "selective" in text:
        return "selective-op" if "op" in text else "selective"
    if text in {"full", "true", "yes", "on", "1", "uniform", "block", "layer", "activation_checkpointing"}:
        return "full"
    raise SpecError(f"recompute '{text}' is not known; nearest: full")


def _batches(spec: Mapping[str, Any], parallel: Parallel, why: list[str]) -> tuple[int, int]:
    """Micro-batch size and micro-batches a step."""
    micro, local = whole(spec, "micro_batch", "micro_batch"), whole(spec, "local_batch", "local_batch")
    accumulate, total = whole(spec, "grad_accum", "grad_accum"), whole(spec, "global_batch", "global_batch")
    if micro is not None:
        count = accumulate
        if count is None and total is not None:
            if total % (micro * parallel.dp):
                near = max(1, round(total / (micro * parallel.dp))) * micro * parallel.dp
                raise SpecError(
                    f"global_batch {total} is not micro_batch x dp = {micro * parallel.dp} times a whole "
                    f"number; nearest: {near}"
                )
            count = total // (micro * parallel.dp)
        if count is None:
            count = 4 * parallel.pp if parallel.pp > 1 else 1
            if parallel.pp > 1:
                why.append(f"global_batch not given: {count} micro-batches per step assumed")
        return micro, count
    if local is not None:
        if parallel.pp == 1:
            return local, accumulate or 1
        # A batch of the rank is cut into as many micro-batches as there are stages (torchtitan's rule).
        count = min(parallel.pp, local)
        why.append(f"local_batch {local} over {parallel.pp} stages: {count} micro-batches of {-(-local // count)}")
        return -(-local // count), count
    if total is not None:
        count = accumulate or 1
        return max(1, total // (parallel.dp * count)), count
    why.append("micro_batch not given: 1")
    return 1, accumulate or (4 * parallel.pp if parallel.pp > 1 else 1)


def _unsaid(spec: Mapping[str, Any], framework: str) -> frozenset[str]:
    """Fields that say too little: which program fine-tunes, and which form of an optimizer steps."""
    general = not framework or re.search(r"transformers|hugging|trainer|\bpeft\b|\btrl\b", framework) is not None
    found = {
        "framework": general,
        "optimizer": spec.get("optimizer") is None,
        "loss": spec.get("fused_ce") is None,
        # TRL and LLaMA-Factory do not call PEFT's preparation, and axolotl casts back what it did.
        "prepared": spec.get("kbit_prepared") is None and not re.search(r"trl|llama.?factory|axolotl", framework),
        "norms": spec.get("kbit_prepared") is None,
        "packing": "pretrain" not in str(spec.get("method") or "pretrain")[:60].lower() and spec.get("packing") is None,
        "weights": "gather" not in str(spec.get("precision"))[:40].lower(),
    }
    return frozenset(name for name, open_end in found.items() if open_end)


def _bucket(spec: Mapping[str, Any], hidden: int, stage: int, why: list[str]) -> int | None:
    """Gradients of one of DeepSpeed's buckets: ``auto`` is the square of the hidden size (``_prepare_deepspeed`` of
    accelerate/accelerator.py, 16cb6eb80, read 2026-11-29).

    LLaMA-Factory (examples/deepspeed), axolotl (deepspeed_configs) and ms-swift (swift/config) ship it for stage 3;
    ms-swift 2e8 for the others (read 2026-11-30).
    """
    asked, named = spec.get("reduce_bucket"), str(spec.get("framework"))[:40].lower()
    if asked is None and "deepspeed" in named and re.search(r"llama.?factory|axolotl|swift", named):
        asked = "auto" if stage == 3 else 200_000_000 if "swift" in named else None
        if asked is not None:
            why.append(f"reduce_bucket not given: {asked}, as in the DeepSpeed configurations of this program")
    if str(asked).lower() == "auto":
        return hidden * hidden
    return whole({"reduce_bucket": asked}, "reduce_bucket", "reduce_bucket", high=10**12)


def _stepwise(spec: Mapping[str, Any], framework: Framework, count: int, gpus: int) -> bool:
    """Whether the optimizer steps in the backward pass; raises SpecError where gradients outlive that."""
    found = flag(spec, "step_in_backward", "step_in_backward") or False
    if found and (count > 1 or gpus > 1 or framework not in ("ddp", "fsdp2", "fsdp1")):
        raise SpecError("step_in_backward is for plain PyTorch on one GPU without accumulation; nearest: grad_accum 1")
    return found


def read_spec(spec: Any, nics: Mapping[str, float], why: list[str]) -> tuple[Work, bool]:
    """The work of a specification, and whether ``recompute`` was given; raises SpecError."""
    if not isinstance(spec, Mapping):
        raise SpecError("the specification is not a mapping of fields")
    model = read_model(spec.get("model"), why)
    gpus = whole(spec, "gpus", "gpus", high=1_000_000)
    raw = table(spec, "parallel")
    if gpus is None:
        gpus = 1
        for key in ("tp", "pp", "cp", "dp", "fsdp"):
            gpus *= whole(raw, key, f"parallel.{key}") or 1
        why.append(f"gpus not given: {gpus}, the product of the parallel sizes")
    seq = whole(spec, "seq", "seq", high=100_000_000)
    if seq is None:
        raise SpecError("seq is missing: the length of a sequence in tokens")
    gpu = read_gpu(spec.get("gpu"), nics, why)
    framework = framework_of(raw, model, spec)
    parallel = read_parallel(raw, model, gpus, framework, why)
    if seq % parallel.cp:
        raise SpecError(f"cp {parallel.cp} does not divide seq {seq}; nearest: cp {nearest_divisor(seq, parallel.cp)}")
    micro, count = _batches(spec, parallel, why)
    attention = str(spec.get("attention") or ("flash" if gpu.flash else "eager"))[:40].lower()
    if not gpu.flash and spec.get("attention") is None:
        why.append("attention not given: no flash kernel was built for this GPU, so scores are kept")
    fused = str(spec.get("fused_ce") or "").lower()[:40]
    loss: Loss = "plain"
    if fused and fused not in {"none", "false", "no", "0"}:
        # torchtitan's and torchtune's earlier form cuts the logits, which exist whole; Liger's cuts the head's input.
        cut = "chunk" in fused and re.search("liger|linear|nll", fused) is None
        written_over = re.search(r"in.?place", fused) is not None  # flash-attn's and llm-foundry's cross-entropy
        loss = "compiled" if "compil" in fused else "inplace" if written_over else "chunked" if cut else "fused"
        if framework == "megatron" and re.search(r"^(te|transformer.?engine|native|true|1)$", fused):
            # Its own form is the default of --cross-entropy-loss-fusion.
            loss = "inplace" if fused.startswith("t") and fused != "true" else "native"
    elif model.family == "mpt" and spec.get("fused_ce") is None:
        loss = "inplace"
        why.append("MPT: its own in-place fused cross-entropy and Triton attention are assumed")
    named = str(spec.get("framework") or "")[:40].lower()
    compiled = flag(spec, "compile", "compile") or False
    if compiled and spec.get("fused_ce") is None and "titan" in named:
        # ``compile.components`` (torchtitan/config, components/loss.py), read 2026-11-28.
        loss = "compiled"
        why.append("fused_ce not given: compiled, as torchtitan has done with the model since April 2025")
    trl = re.search(r"\btrl\b", named) is not None
    pieces = trl and spec.get("fused_ce") is None and framework != "megatron"
    if pieces:
        # ``loss_type`` of trl/trainer/sft_config.py, also with PEFT (_patch_chunked_ce_lm_head), read 2026-11-30.
        loss = "fused"
        why.append("fused_ce not given: TRL's chunked_nll, its default since 1.7; earlier releases keep all logits")
    method = str(spec.get("method") or "full")[:60].lower()
    if "offload" in method and "no offload" not in method:
        parallel = replace(parallel, offload_optimizer=True, offload_weights=parallel.zero == 3)
    tuned = spec.get("method") is not None and "pretrain" not in method
    hugging = re.search(r"transformers|hugging|trl|axolotl|trainer|unsloth|\bhf\b", named) is not None
    optimizer = str(spec.get("optimizer") or "adam")[:40].lower()
    kind: Optimizer | None = next((name for pattern, name in _OPTIMIZERS if re.search(pattern, optimizer)), None)
    if kind is None:
        raise SpecError(f"optimizer '{optimizer}' is not known; nearest: adamw")
    if kind == "adam8bit" and "paged" in optimizer:
        # bitsandbytes keeps these states in memory that moves between GPU and host, and asks for it with the size of
        # the whole weight (``get_state_buffer`` of its optim/optimizer.py), of which FSDP2 leaves each rank a part.
        if framework == "fsdp2":
            raise SpecError(
                f"optimizer '{optimizer}' is from bitsandbytes, which does not support FSDP2's sharded weights; "
                "nearest: torchao's adamw_8bit"
            )
        parallel = replace(parallel, offload_optimizer=True)
    if kind == "adam16bit" and (framework != "megatron" or parallel.zero != 1):
        raise SpecError(
            f"optimizer '{optimizer}' belongs to Megatron-LM's distributed optimizer (precision-aware); nearest: adamw"
        )
    recompute = spec.get("recompute")
    prepared = "qlora" in method and flag(spec, "kbit_prepared", "kbit_prepared") is True
    return (
        Work(
            model=model,
            gpu=gpu,
            gpus=gpus,
            seq=seq,
            micro_batch=micro,
            microbatches=count,
            parallel=parallel,
            framework=framework,
            recompute="none" if recompute is None else _recompute(recompute),
            recompute_layers=whole(spec, "recompute_layers", "recompute_layers", low=0, high=10_000),
            precision=_precision(spec.get("precision")),
            compile=compiled,
            flash=not re.search("eager|math|naive|^none|^false", attention),
            attention=attention,
            loss=loss,
            method="qlora" if "qlora" in method else "lora" if "lora" in method else "full",
            lora_rank=whole(spec, "lora_rank", "lora_rank", high=65_536) or 16,
            optimizer=kind,
            transformers=framework == "deepspeed" or tuned or hugging,
            pure_bf16="pure" in str(spec.get("precision"))[:40].lower(),
            step_in_backward=_stepwise(spec, framework, count, gpus),
            torchao=kind == "adam8bit" and "torch" in optimizer,  # the Trainer calls them adamw_torch_8bit
            adapted=read_adapted(spec.get("lora_targets")),
            foreach=optimizer.replace("-", "_") == "adamw_torch",  # the Trainer's name; the other is adamw_torch_fused
            growing="expandable" in str(spec.get("allocator"))[:60].lower(),
            bucket=_bucket(spec, model.hidden, parallel.zero, why),
            wide=prepared,
            prepared=prepared,
            # Cut cross-entropy (apple/ml-cross-entropy; axolotl's plugin of that name patches a model's last step
            # alone) and ``chunked_nll``, the default of TRL's SFTTrainer since 2026, both read 2026-11-30.
            loss_alone=pieces or (loss == "fused" and re.search(r"cce|cut.?cross|nll", fused) is not None),
            # TRL makes the adapters of 4-bit weights bf16 ones (trl/trainer/sft_trainer.py, f2cd57710, 2026-11-30).
            own_adapters=re.search(r"torch.?tune|lit.?gpt", named) is not None or (trl and "qlora" in method),
            unsaid=_unsaid(spec, named),
        ),
        recompute is not None,
    )
