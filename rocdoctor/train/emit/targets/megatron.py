"""The arguments of Megatron-LM's ``pretrain_gpt.py`` (megatron-core 0.19.2), in a script that starts it.

What a configuration can be: ``megatron_limits``. Everything that the estimate of memory rests on is said, defaults too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from rocdoctor.train.emit.files import File
from rocdoctor.train.emit.launcher import Argument, model_words, own_options
from rocdoctor.train.emit.megatron_limits import FRAMEWORKS, VERSION, last_stage, refuses
from rocdoctor.train.emit.script import because, render, told
from rocdoctor.train.emit.targets import Order
from rocdoctor.train.recommend.model.models import preset
from rocdoctor.train.recommend.model.shapes import Latent, Model
from rocdoctor.train.recommend.plan import Plan, Setting

__all__ = ["FILL_IN", "FRAMEWORKS", "files", "program", "refuses"]

# Rotation base and epsilon of the norms by family of presets: torchtitan 0.3.0, torchtitan/models/*/__init__.py.
_ROTARY = (("llama-3", "500000", "1e-05"), ("qwen3", "1000000", "1e-06"))
# Share of a head that is rotated, where it is not all: scripts/models/glm4.5-106B-A12B.sh of zyzshishui/slime, read
# 2026-11-28.
_ROTATED = {"glm-4.5-air": "0.5"}
_GIVEN = (
    Setting("DATA_PATH", "/data/corpus_text_document", "prefix of the .bin and .idx files of tools/preprocess_data.py"),
    Setting("TOKENIZER_MODEL", "meta-llama/Llama-3.1-8B", "folder or name of the Hugging Face tokenizer"),
    Setting("TRAIN_ITERS", "1000", "optimizer steps"),
    Setting("LEARNING_RATE", "3e-4", "the highest learning rate"),
)
_OF_MODEL = (
    Setting("ROTARY_BASE", "10000", "rope_theta of the model's config.json"),
    Setting("NORM_EPSILON", "1e-5", "rms_norm_eps or layer_norm_eps of the model's config.json"),
)
FILL_IN = "FILL-IN"
_KERNELS = {
    "fused": "Transformer Engine's own kernels: CK and AOTriton on AMD, cuDNN on NVIDIA",
    "flash": "those of the package flash-attn, as estimated",
    "unfused": "scores were estimated to be kept",
}
_CONNECTIONS = Setting("CUDA_DEVICE_MAX_CONNECTIONS", "1", "Megatron-LM requires it for tensor and context parallelism")


def _rotary(model: Model) -> tuple[str, str] | None:
    known = preset(model.name)
    name = str(known["id"]) if known else ""
    return next(((base, epsilon) for family, base, epsilon in _ROTARY if name.startswith(family)), None)


def _rotated(model: Model) -> str | None:
    known = preset(model.name)
    return _ROTATED.get(str(known["id"])) if known else None


def _shape(plan: Plan, given: Mapping[str, str]) -> Iterator[Argument]:
    model = plan.work.model
    yield Argument(
        (
            "--num-layers",
            str(model.layers),
            "--hidden-size",
            str(model.hidden),
            "--ffn-hidden-size",
            str(model.ffn),
            "--num-attention-heads",
            str(model.heads),
        ),
        f"sizes of {model_words(plan)}",
    )
    if model.latent is None:
        yield Argument(("--kv-channels", str(model.head_dim)), "width of an attention head")
        if model.kv_heads != model.heads:
            words = ("--group-query-attention", "--num-query-groups", str(model.kv_heads))
            yield Argument(words, f"{model.heads // model.kv_heads} query heads share keys and values")
    else:
        yield from _latent(model.latent)
    if model.gated:
        yield Argument(("--swiglu",), "the feed-forward part is gated with SiLU")
    yield Argument(("--normalization", "LayerNorm" if model.norm == "layer" else "RMSNorm"), "as the model has it")
    if model.qk_norm or model.latent is not None:
        yield Argument(("--qk-layernorm",), "queries and keys are normalised")
    if not model.bias:
        qkv = ("--add-qkv-bias",) if model.attn_bias else ()
        yield Argument(
            ("--disable-bias-linear", *qkv), "biases on queries, keys and values only" if qkv else "no biases"
        )
    if not model.tied:
        yield Argument(("--untie-embeddings-and-output-weights",), "the head has its own matrix")
    found = _rotary(model)
    base, epsilon = found if found is not None else (given["ROTARY_BASE"], given["NORM_EPSILON"])
    yield Argument(("--position-embedding-type", "rope"), "rotary positions")
    reason = "as models of this family have them"
    if found is None:
        reason = "rope_theta and the epsilon of the norms: in config.json (partial_rotary_factor is --rotary-percent)"
    yield Argument(("--rotary-base", base, "--norm-epsilon", epsilon), reason, base.startswith("$"))
    share = _rotated(model)
    if share is not None:
        yield Argument(("--rotary-percent", share), "only a part of each head is rotated")
    yield Argument(
        ("--hidden-dropout", "0.0", "--attention-dropout", "0.0"), "no dropout: its masks were not counted in memory"
    )


def _latent(latent: Latent) -> Iterator[Argument]:
    query = ("--q-lora-rank", str(latent.q_rank)) if latent.q_rank else ()
    yield Argument(
        (
            "--multi-latent-attention",
            *query,
            "--kv-lora-rank",
            str(latent.kv_rank),
            "--qk-head-dim",
            str(latent.nope),
            "--qk-pos-emb-head-dim",
            str(latent.rope),
            "--v-head-dim",
            str(latent.v),
        ),
        "keys and values come from a compressed vector",
    )


def _experts(plan: Plan) -> Iterator[Argument]:
    model, sizes = plan.work.model, plan.work.parallel
    yield Argument(
        (
            "--num-experts",
            str(model.experts),
            "--moe-router-topk",
            str(model.top_k),
            "--moe-ffn-hidden-size",
            str(model.expert_ffn),
        ),
        f"{model.top_k} of {model.experts} experts process each token",
    )
    if model.dense_layers or model.moe_every > 1:
        without = [f"the first {model.dense_layers} layers have no experts"] if model.dense_layers else []
        without += [f"one of {model.moe_every} layers has experts"] if model.moe_every > 1 else []
        yield Argument(("--moe-layer-freq", _expert_layers(model)), ", then ".join(without))
    if model.shared_experts:
        width = model.shared_experts * model.expert_ffn
        yield Argument(("--moe-shared-expert-intermediate-size", str(width)), "experts that process every token")
    if model.router_bias:
        words: tuple[str, ...] = ("--moe-router-enable-expert-bias", "--moe-router-score-function", "sigmoid")
        yield Argument((*words, "--moe-router-load-balancing-type", "none"), "biases of the router balance the experts")
    else:
        # The coefficient is that of MixtralConfig and Qwen3MoeConfig in transformers 5.23.
        words = ("--moe-router-load-balancing-type", "aux_loss", "--moe-aux-loss-coeff", "0.001")
        yield Argument(words, "experts are used evenly, as in the estimate")
    yield Argument(
        ("--moe-token-dispatcher-type", "alltoall", "--moe-grouped-gemm"),
        "tokens are sent to the ranks of their experts",
    )
    reason = because(plan, "expert_parallel", f"each rank has {model.experts // sizes.ep} of the experts of a layer")
    yield Argument(("--expert-model-parallel-size", str(sizes.ep)), reason)
    cut = "experts are cut as the other matrices are" if sizes.cut == sizes.tp else "each expert is whole on its rank"
    yield Argument(("--expert-tensor-parallel-size", str(sizes.cut)), cut)


def _division(plan: Plan) -> Iterator[Argument]:
    work, sizes = plan.work, plan.work.parallel
    whole = "each rank has whole matrices" if sizes.tp == 1 else f"each matrix is divided among {sizes.tp} ranks"
    yield Argument(("--tensor-model-parallel-size", str(sizes.tp)), because(plan, "tensor_parallel", whole))
    if sizes.sequence:
        reason = because(plan, "sequence_parallel", "norms and residuals are divided too")
        yield Argument(("--sequence-parallel", *(("--tp-comm-overlap",) if sizes.async_tp else ())), reason)
    whole = "no pipeline" if sizes.pp == 1 else f"layers are divided among {sizes.pp} ranks"
    yield Argument(("--pipeline-model-parallel-size", str(sizes.pp)), because(plan, "pipeline_parallel", whole))
    if sizes.pp > 1 and sizes.chunks > 1:
        reason = because(plan, "schedule", "interleaved 1F1B: the pipeline waits less")
        yield Argument(("--num-virtual-stages-per-pipeline-rank", str(sizes.chunks)), reason)
    elif sizes.pp > 1 and work.model.layers % sizes.pp:
        stage = ceil(work.model.layers / sizes.pp)
        reason = f"{work.model.layers} layers: {stage} in each other stage, as estimated"
        yield Argument(("--decoder-last-pipeline-num-layers", str(last_stage(work))), reason)
    whole = "each rank has whole sequences" if sizes.cp == 1 else f"each sequence is divided among {sizes.cp} ranks"
    yield Argument(("--context-parallel-size", str(sizes.cp)), because(plan, "context_parallel", whole))
    copies = sizes.dp * sizes.cp // sizes.shard
    if sizes.zero == 1:
        reason = because(plan, "shard", "optimizer states are divided among the data-parallel ranks")
        yield Argument(("--use-distributed-optimizer",), reason)
        if copies > 1:
            reason = because(plan, "replicate", f"{copies} copies of the divided states")
            yield Argument(("--num-distributed-optimizer-instances", str(copies)), reason)
    if sizes.dp * sizes.cp > 1:
        gather = ("--overlap-param-gather",) if sizes.zero == 1 else ()
        yield Argument(("--overlap-grad-reduce", *gather), "communication runs alongside the computation")


def _batches(plan: Plan) -> Iterator[Argument]:
    work = plan.work
    words = ("--seq-length", str(work.seq), "--max-position-embeddings", str(work.seq))
    yield Argument(words, f"activations were estimated for {work.seq} tokens per sequence")
    yield Argument(("--micro-batch-size", str(work.micro_batch)), because(plan, "micro_batch", "sequences of one pass"))
    passes = "one pass" if work.microbatches == 1 else f"{work.microbatches} passes"
    count = f"{passes} per step on {work.parallel.dp} data-parallel ranks"
    yield Argument(("--global-batch-size", str(plan.global_batch)), because(plan, "global_batch", count))


def _computing(plan: Plan) -> Iterator[Argument]:
    work = plan.work
    yield Argument(("--transformer-impl", "transformer_engine"), "fused norms and gates, as estimated")
    if work.precision != "fp32":
        reason = because(plan, "precision", "products in 16 bits, master weights in fp32")
        yield Argument(("--fp16" if work.precision == "fp16" else "--bf16",), reason)
        yield Argument(("--accumulate-allreduce-grads-in-fp32",), "gradients are summed in fp32")
    if work.precision == "fp8":
        words: tuple[str, ...] = ("--fp8-format", "hybrid", "--fp8-recipe", "delayed", "--fp8-param-gather")
        yield Argument(words, because(plan, "precision", "products in 8 bits") + "; weights are kept in 8 bits only")
    reason = because(plan, "recompute", "which activations are computed again")
    if work.recompute == "full":
        method = ("uniform", "1") if work.recompute_layers is None else ("block", str(_again(plan)))
        words = (
            "--recompute-granularity",
            "full",
            "--recompute-method",
            method[0],
            "--recompute-num-layers",
            method[1],
        )
        yield Argument(words, reason)
    elif work.recompute == "selective":
        yield Argument(("--recompute-granularity", "selective", "--recompute-modules", "core_attn"), reason)
    yield Argument(("--attention-backend", _attention(plan)), _KERNELS[_attention(plan)])
    yield Argument(("--optimizer", "adam"), because(plan, "optimizer", "AdamW, two moments in fp32"))
    if work.optimizer == "adam16bit":
        short = ("--use-precision-aware-optimizer", "--exp-avg-dtype", "bf16", "--exp-avg-sq-dtype", "bf16")
        yield Argument(short, "both moments in bf16, as estimated, by TransformerEngine 2.14 or later")
    yield Argument(("--cuda-graph-impl", "none"), "memory was estimated without CUDA graphs and their own pool")


def _again(plan: Plan) -> int:
    """Layers to recompute of one chunk: Megatron counts them in each of its virtual stages."""
    work = plan.work
    return (work.recompute_layers or 0) // work.parallel.chunks


def _attention(plan: Plan) -> str:
    work = plan.work
    if not work.flash:
        return "unfused"
    # "flash" leaves Transformer Engine the package flash-attn alone (megatron/core/models/common/language_module/
    # language_module.py). ROCm's engine had it switched off in 2024 and takes it where it is installed today
    # (pytorch/attention of ROCm/TransformerEngine, read 2026-11-29); kernels of its own are in every build. They also
    # take heads whose keys and values differ in width, as those of latent attention do.
    named = re.search(r"fa[23]|flash[_-]?(?:attn|attention)?[_-]?[23]", work.attention) is not None
    return "flash" if named and work.model.latent is None else "fused"


def _expert_layers(model: Model) -> str:
    """Which layers have experts, as the expression that Megatron reads: 1 for each that has."""
    rounds, rest = divmod(model.layers - model.dense_layers, model.moe_every)
    cycle = ",".join(["0"] * (model.moe_every - 1) + ["1"])
    parts = (("0", model.dense_layers), (cycle, rounds), ("0", rest))
    return f"({'+'.join(f'[{values}]*{count}' for values, count in parts if count)})"


def program(plan: Plan, order: Order, variables: bool = False) -> list[Argument]:
    """What each rank runs.

    Where only the user knows a value, a variable of the shell stands for it, or, for launchers that have no shell, a
    word that Megatron-LM's parser refuses.
    """
    model, tp = plan.work.model, plan.work.parallel.tp
    script = order.script if order.script != Order().script else "pretrain_gpt.py"
    rows = ceil(model.vocab / tp) * tp
    given = {one.name: f"${one.name}" if variables else FILL_IN for one in (*_GIVEN, *_OF_MODEL)}

    def own(option: str, name: str, reason: str) -> Argument:
        return Argument((option, given[name]), reason if variables else f"replace {FILL_IN}: {reason}", variables)

    return [
        Argument((script,), "Megatron-LM's training program, in the folder of its checkout"),
        *_shape(plan, given),
        Argument(("--padded-vocab-size", str(rows)), "rows of the embedding; your tokenizer must not have more tokens"),
        *(_experts(plan) if model.experts else ()),
        *_division(plan),
        *_batches(plan),
        *_computing(plan),
        own("--train-iters", "TRAIN_ITERS", "your optimizer steps"),
        own("--lr", "LEARNING_RATE", "your highest learning rate"),
        own("--data-path", "DATA_PATH", "prefix of your .bin and .idx files"),
        Argument(("--tokenizer-type", "HuggingFaceTokenizer"), "the kind that most public models have"),
        own("--tokenizer-model", "TOKENIZER_MODEL", "your tokenizer"),
        *own_options(order.script_arguments),
    ]


def files(plan: Plan, order: Order) -> Sequence[File]:
    """The script that starts Megatron-LM on one node."""
    work, model = plan.work, plan.work.model
    head = [
        told(plan, "Megatron-LM"),
        f"Options are those of megatron-core {VERSION}. Ranks have Megatron's usual order: tensor parallelism varies "
        "fastest, then context, data and pipeline.",
        "Add the options that do not affect memory: --save and --save-interval, --split, the "
        "schedule of the learning rate, "
        "weight decay, logging.",
    ]
    if model.experts or model.latent is not None:
        head.append(
            "Details of the router and of rotary scaling follow the model's config.json (--moe-router-..., --mscale, "
            "--rotary-scaling-factor); they do not change memory."
        )
    given = {one.name for one in plan.environment}
    wide = (work.parallel.tp > 1 or work.parallel.cp > 1) and _CONNECTIONS.name not in given
    needed = [*_GIVEN, *(_OF_MODEL if _rotary(model) is None else ())]
    words = program(plan, order, variables=True)
    text = render(plan, head, needed, words, [_CONNECTIONS] if wide else [])
    return [File("megatron.sh", text, executable=True)]
