"""Bytes of activations that the backward pass needs, from what each operation saves.

A layer's inventory (bytes a token; h hidden, f feed-forward, q k v o the attention widths), 16-bit unless said: input
of both norms 2h each, their outputs 2h each (RMSNorm written out in fp32: 8h with its copies), q k v after rotation,
attention output and 4 B a head of log-sum-exp, gate and up 2f each, their activation and product 2f each. It gives 32 h
for a GPT layer with 4h and flash attention (Korthikanti et al., arXiv 2205.05198: 34 h with dropout masks).
"""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.train.recommend.model.shapes import Kind, Model
from rocdoctor.train.recommend.model.spec import Work


@dataclass(frozen=True, slots=True)
class LayerBytes:
    """Bytes a token of one layer on one GPU: ``saved`` with the recompute asked for, ``whole`` with none at all,
    ``working`` beyond what is saved while its backward pass runs."""

    saved: float
    whole: float
    working: float


def autocast(work: Work) -> bool:
    """Whether fp32 weights are multiplied in 16 bits by autocast, which leaves the residual stream in fp32.

    Frozen weights are loaded in 16 bits (those around the 4-bit ones too), and so is the stream that begins with the
    embedding; fp32 adapters give 16 bits under autocast. A layer of LoRA in a graph of torch 2.13 keeps 12.8 kB a token
    where 13.3 are counted (hidden 256), and that of trained weights 16.1 where it is 15.9.
    """
    return work.framework == "ddp" and work.precision != "fp32" and not work.pure_bf16 and work.method == "full"


def _eight(work: Work) -> bool:
    """Whether linear layers keep their inputs in 8 bits.

    Those of Transformer Engine keep one orientation of the quantized input (``ln_out`` and ``saved_inputmat`` of
    pytorch/module/layernorm_linear.py and linear.py, d0067d0da, read 2026-11-29). Norms, the gate and attention keep
    theirs in 16 bits beside it.
    """
    return work.framework == "megatron" and work.precision == "fp8"


def _width(work: Work) -> float:
    """Bytes of an activation over the 2 that the inventory counts."""
    return 2.0 if work.precision == "fp32" else 1.0


def _attention(work: Work) -> float:
    model = work.model
    spread = work.framework in {"fsdp2", "ddp"} and not work.compile and model.latent is None
    keys = 2.0 * model.o_width if spread else model.k_width + model.v_width  # repeat_kv before the kernel
    flash = 2 * (model.q_width + keys + model.o_width) + 4 * model.heads
    if model.latent is not None:
        flash += 2 * (model.latent.q_rank + model.latent.kv_rank + model.latent.rope) * 2
    # The projection keeps the attention output a second time, in 8 bits.
    return flash + (model.o_width if _eight(work) else 0.0)


def _scores(work: Work) -> float:
    """Without a flash kernel: fp32 softmax and its 16-bit copy (4 + 2 B a head and key; fp32 needs no copy)."""
    return 0.0 if work.flash else (4.0 if work.precision == "fp32" else 6.0) * work.model.heads * work.seq


def _peft(work: Work) -> bool:
    """Whether adapters are PEFT's, in fp32 beside frozen 16-bit weights (``autocast_adapter_dtype``, and
    ``_cast_input_dtype`` of peft/tuners/tuners_utils.py, 0.19, read 2026-11-29)."""
    tuned = work.method != "full" and work.transformers
    return tuned and not work.compile and work.precision != "fp32" and work.model.norm == "rms"


def _adapter_copy(work: Work) -> float:
    """Bytes an element of an adapted layer's input that its adapter keeps: in 16 bits under autocast."""
    return 4.0 if work.pure_bf16 else 2.0


def _norms(work: Work) -> float:
    model, width = work.model, _width(work)
    # Norms of q and k meet 16-bit input with fp32 weights under autocast, so torch writes them out in fp32.
    heads = (8.0 if autocast(work) else 4.0) * width * (model.q_width + model.k_width) if model.qk_norm else 0.0
    written_out = model.norm == "rms" and work.transformers and not work.liger and not work.compile
    if autocast(work):
        # fp32 input (and normalised value), and a 16-bit copy of the output for each product that reads it.
        readers = 3 + (2 if model.gated else 1)
        return (model.norms * (8.0 if written_out else 4.0) + 2.0 * readers) * model.hidden + heads
    if _peft(work):
        # A frozen norm keeps its fp32 copy (or input) alone; each adapted product casts the norm's output for itself.
        copies = sum(work.reads_input(one) for one in ("q", "k", "v", *(("gate",) if model.gated else ()), "up"))
        copied = _adapter_copy(work) * (copies * model.hidden + work.reads_input("o") * model.o_width)
        return model.norms * (4.0 if written_out else 2.0) * model.hidden + copied + heads
    per_norm = 3.0 if _eight(work) else 4.0  # input and output
    if work.compile:
        per_norm = 3.0  # the output is computed again from the input where that is cheap
    elif written_out:
        per_norm = 6.0 if work.precision == "fp32" else 8.0  # fp32 copy, normalised value, output
    unread = (not work.reads_input("q", "k", "v")) + (not work.reads_input("gate", "up"))
    return (model.norms * per_norm - 2.0 * unread) * width * model.hidden + heads


def _mlp_bytes(model: Model, work: Work, width: int) -> float:
    eight = _eight(work)
    if not model.gated:
        return (3.0 if eight else 4.0) * width
    # One kernel for the gate keeps gate, up and product; written out it keeps the activation too.
    one_kernel = work.compile or work.framework == "megatron" or work.liger
    return (5.0 if eight else 6.0 if one_kernel else 8.0) * width


def _feed_forward(work: Work, kind: Kind) -> float:
    model = work.model
    if kind == "dense":
        if not work.reads_input("down"):
            return _mlp_bytes(model, work, model.ffn) - 2.0 * model.ffn
        return _mlp_bytes(model, work, model.ffn) + (_adapter_copy(work) - 2.0) * model.ffn * _peft(work)
    # Permuted tokens go into the experts; Megatron weights them before the second product, others keep its output too.
    tokens = 4.0
    if work.framework == "megatron":
        # An expert that is cut as all other matrices are gets its tokens whole, gathered over the ranks of tensor
        # parallelism (``dispatch_postprocess`` of core/transformer/moe/token_dispatcher.py, read 2026-11-29).
        tokens = (1.0 if _eight(work) else 2.0) * work.parallel.cut
    routed = model.top_k * (_mlp_bytes(model, work, model.expert_ffn) + tokens * model.hidden)
    shared = _mlp_bytes(model, work, model.shared_experts * model.expert_ffn)
    return routed + shared + 8.0 * model.experts


def _selective_op(work: Work, kind: Kind) -> float:
    """torchtitan's policy: attention output and every second matrix product are kept, the rest is computed again."""
    model = work.model
    kept = 2.0 * _width(work) * model.o_width + 4 * model.heads + _residual(work)
    if model.gated:
        products = model.q_width + model.v_width + model.ffn + model.hidden  # q, v, gate, down
    else:
        products = model.q_width + model.k_width + model.v_width + model.ffn  # fused qkv, up
    if kind == "moe":
        products += model.top_k * (model.expert_ffn + model.hidden) - model.ffn
    return kept + 2.0 * _width(work) * products


def _residual(work: Work) -> float:
    """Bytes a token of the residual stream."""
    return (4.0 if autocast(work) or work.precision == "fp32" or work.wide else 2.0) * work.model.hidden


def layer_bytes(work: Work, kind: Kind) -> LayerBytes:
    """Activation bytes of one layer, a token of the GPU's micro-batch.

    Tensor parallelism divides all of it with sequence parallelism, else all but norms and residuals (Megatron's
    10 + 24/t).
    """
    model, tp = work.model, work.parallel.tp
    norms, feed = _norms(work), _feed_forward(work, kind) * _width(work)
    inside = _attention(work) * _width(work) + feed
    outer = 1.0 / tp if work.parallel.sequence or tp == 1 else 1.0
    keep_scores = 0.0 if work.recompute == "selective" else _scores(work)
    whole = norms * outer + (inside + keep_scores) / tp
    width = model.ffn if kind == "dense" else model.top_k * model.expert_ffn
    # Liger's gate writes the gradients of gate and up over their values.
    wide = 2.0 if work.liger and model.gated else 4.0
    # Gradients of the feed-forward part; when all of it has gone, three of the size of the scores in fp32.
    scores = 0.0 if work.flash else 12.0 * model.heads * work.seq - keep_scores
    gradients = max(wide * _width(work) * width + _residual(work), scores - feed) / tp
    if work.recompute == "full":
        return LayerBytes(_residual(work) * outer, whole, whole + gradients)
    if work.recompute == "selective-op":
        kept = min(whole, _selective_op(work, kind) / tp)
        return LayerBytes(kept, whole, whole - kept + gradients)
    return LayerBytes(whole, whole, gradients)


def stage_bytes(work: Work) -> tuple[float, float]:
    """Bytes a token that all layers of the fullest stage save, and the largest working part of one layer.

    ``recompute_layers`` counts layers of a stage (Megatron's block method); the others save everything.
    """
    model = work.model
    stage = -(-model.layers // work.parallel.pp)
    again = stage if work.recompute_layers is None else min(stage, work.recompute_layers)
    if work.recompute != "full":
        again = stage
    parts = [(layer_bytes(work, kind), count / model.layers) for kind, count in model.kinds]
    saved = sum(share * (again * one.saved + (stage - again) * one.whole) for one, share in parts)
    working = max(one.working if again else one.working - one.whole for one, _ in parts)
    return saved, max(0.0, working)


def loss_bytes(work: Work) -> float:
    """Bytes of logits and loss at their peak, whole micro-batch, on the GPU that computes the loss.

    A token and word: torch's cross-entropy on fp32 logits 14 (bf16 logits, log-softmax, two gradients in turn; 16 where
    the logits themselves are fp32), which is Transformers' too since it shifts labels in place of logits
    (huggingface/transformers pull request 35646 of January 2025; shifted copies took 18); torch's loss-parallel form 18
    over tp; in-place kernel 4. Compiled 4: the graph keeps bf16 logits
    and two numbers a row and computes the rest again, so beside them only their gradient is written (traced with the
    partitioner of torch 2.13). Liger's kernel keeps a chunk of logits and the gradient of a head that is trained; since
    version 0.6.1 each chunk adds a product of that size and its fp32 copy (``grad_weight += torch.mm(...).float()`` of
    ops/fused_linear_cross_entropy.py, 2845fe836), but for gradients in fp32 since July 2026 (c9fc646fe).
    Chunks of whole logits (torchtitan pull request 996, torchtune's CEWithChunkedOutputLoss): 16-bit logits and their
    gradient, and the fp32 work of one of eight chunks, 4 + 12/8.
    Megatron's vocabulary-parallel form 6 over tp: 16-bit logits and one fp32 copy, in which exponentials, softmax and
    gradient follow each other in place (core/tensor_parallel/cross_entropy.py); Transformer Engine's fused form as much
    (16-bit logits and their gradient in fp32, pytorch/triton/cross_entropy.py); the fused form of its own 10, since a
    compiled graph writes no input in place (core/fusions/fused_cross_entropy.py, all read 2026-11-29). Its functional
    tests print the peak of the last stage: beyond states 13.87 GiB of gpt3_15b_8t on H100 with the first, where 13.92
    are counted, and 26.02 on GB200 with the last, where 26.28 are (tests/functional_tests, d98e8a64d).
    """
    model, tp = work.model, work.parallel.tp
    # Sequence parallelism gathers the head's input and the gradient of it.
    whole = 4.0 * work.tokens * model.hidden if work.parallel.sequence else 0.0
    if work.loss == "fused":
        single = (work.framework == "ddp" and not work.pure_bf16) or work.precision == "fp32"
        each = (4.0 if single else 8.0) if work.method == "full" else 0.0  # a frozen head has no gradient
        head = each * model.vocab * model.hidden / tp
        return whole + 8.0 * work.tokens * model.hidden + head
    if work.framework == "megatron" and work.loss in ("plain", "inplace"):
        each = 6.0
    elif work.loss in {"inplace", "compiled"}:
        each = 4.0
    elif work.loss == "chunked":
        each = 4.0 + 12.0 / 8
    elif work.loss == "native":
        each = 10.0
    elif tp == 1:
        each = 16.0 if work.precision == "fp32" else 14.0
    else:
        each = 18.0
    # Autocast makes a 16-bit head of one in fp32, which its gradient needs again.
    copied = 2.0 * model.vocab * model.hidden / tp if work.prepared else 0.0
    return whole + copied + each * work.tokens * model.vocab / tp
