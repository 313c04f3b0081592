"""Bytes of activations that the backward pass needs, from what each operation saves.

A layer's inventory (bytes a token; h hidden, f feed-forward, q k v o the attention widths), 16-bit unless said: input
of both norms 2h each, their outputs 2h each (RMSNorm written out in fp32: 8h with its copies), q k v after rotation,
attention output and 4 B a head of log-sum-exp, gate and up 2f each, their activation and product 2f each. It gives 32 h
for a GPT layer with 4h and flash attention (Korthikanti et al., arXiv 2205.05198: 34 h with dropout masks).
"""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.recommend.shapes import Kind, Model
from rocdoctor.recommend.spec import Work


@dataclass(frozen=True, slots=True)
class LayerBytes:
    """Bytes a token of one layer on one GPU: ``saved`` with the recompute asked for, ``whole`` with none at all,
    ``working`` beyond what is saved while its backward pass runs."""

    saved: float
    whole: float
    working: float


def _attention(work: Work) -> float:
    model = work.model
    spread = work.framework in {"fsdp2", "ddp"} and not work.compile and model.latent is None
    keys = 2.0 * model.o_width if spread else model.k_width + model.v_width  # repeat_kv before the kernel
    flash = 2 * (model.q_width + keys + model.o_width) + 4 * model.heads
    if model.latent is not None:
        flash += 2 * (model.latent.q_rank + model.latent.kv_rank + model.latent.rope) * 2
    return flash


def _scores(work: Work) -> float:
    """Scores and probabilities without a flash kernel: fp32 softmax in between (2 + 4 B a head and key)."""
    return 0.0 if work.flash else 6.0 * work.model.heads * work.seq


def _norms(work: Work) -> float:
    model = work.model
    per_norm = 4.0  # input and output
    if work.compile:
        per_norm = 3.0  # the output is computed again from the input where that is cheap
    elif work.framework == "ddp" and not work.pure_bf16:
        per_norm = 10.0  # autocast keeps the residual stream and norms in fp32, and 16-bit copies for the products
    elif model.norm == "rms" and work.transformers and work.loss != "fused":
        per_norm = 8.0  # fp32 copy, normalised value, output
    return 2 * per_norm * model.hidden + (4 * (model.q_width + model.k_width) if model.qk_norm else 0)


def _mlp_bytes(model: Model, work: Work, width: int) -> float:
    if not model.gated:
        return 4.0 * width
    # One kernel for the gate keeps gate, up and product; written out it keeps the activation too.
    one_kernel = work.compile or work.framework == "megatron" or work.loss == "fused"
    return (6.0 if one_kernel else 8.0) * width


def _feed_forward(work: Work, kind: Kind) -> float:
    model = work.model
    if kind == "dense":
        return _mlp_bytes(model, work, model.ffn)
    # Permuted tokens go into the experts; Megatron weights them before the second product, others keep its output too.
    tokens = 2.0 if work.framework == "megatron" else 4.0
    routed = model.top_k * (_mlp_bytes(model, work, model.expert_ffn) + tokens * model.hidden)
    shared = _mlp_bytes(model, work, model.shared_experts * model.expert_ffn)
    return routed + shared + 8.0 * model.experts


def _selective_op(work: Work, kind: Kind) -> float:
    """torchtitan's policy: attention output and every second matrix product are kept, the rest is computed again."""
    model = work.model
    kept = 2.0 * model.o_width + 4 * model.heads + 2.0 * model.hidden
    if model.gated:
        products = model.q_width + model.v_width + model.ffn + model.hidden  # q, v, gate, down
    else:
        products = model.q_width + model.k_width + model.v_width + model.ffn  # fused qkv, up
    if kind == "moe":
        products += model.top_k * (model.expert_ffn + model.hidden) - model.ffn
    return kept + 2.0 * products


def layer_bytes(work: Work, kind: Kind) -> LayerBytes:
    """Activation bytes of one layer, a token of the GPU's micro-batch.

    Tensor parallelism divides all of it with sequence parallelism, else all but norms and residuals (Megatron's
    10 + 24/t).
    """
    model, tp = work.model, work.parallel.tp
    norms, inside = _norms(work), _attention(work) + _feed_forward(work, kind)
    outer = 1.0 / tp if work.parallel.sequence or tp == 1 else 1.0
    keep_scores = 0.0 if work.recompute == "selective" else _scores(work)
    whole = norms * outer + (inside + keep_scores) / tp
    width = model.ffn if kind == "dense" else model.top_k * model.expert_ffn
    # Liger's gate writes the gradients of gate and up over their values.
    wide = 2.0 if work.loss == "fused" and model.gated else 4.0
    gradients = (wide * width + 2.0 * model.hidden + (_scores(work) if not work.flash else 0.0)) / tp
    if work.recompute == "full":
        return LayerBytes(2.0 * model.hidden * outer, whole, whole + gradients)
    if work.recompute == "selective-op":
        kept = min(whole, _selective_op(work, kind) / tp)
        return LayerBytes(kept, whole, whole - kept + gradients)
    return LayerBytes(whole, whole, gradients + (_scores(work) - keep_scores) / tp)


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

    A token and word: torch's cross-entropy on fp32 logits 14 (bf16 logits, fp32 copy, log-softmax, two gradients in
    turn); Transformers' shifted copies 18; torch's loss-parallel form 18 over tp; Megatron's vocabulary-parallel form
    10 over tp; one compiled kernel 6; in-place kernel 4. Chunked kernels (Liger) keep a chunk and the head's gradient.
    """
    model, tp = work.model, work.parallel.tp
    # Sequence parallelism gathers the head's input and the gradient of it.
    whole = 4.0 * work.tokens * model.hidden if work.parallel.sequence else 0.0
    if work.loss == "fused":
        return whole + 8.0 * work.tokens * model.hidden + 4.0 * model.vocab * model.hidden / tp
    if work.loss == "inplace":
        each = 4.0
    elif work.loss == "compiled":
        each = 6.0
    elif work.transformers and tp == 1:
        each = 18.0
    elif work.framework == "megatron":
        each = 10.0
    else:
        each = 14.0 if tp == 1 else 18.0
    return whole + each * work.tokens * model.vocab / tp
