"""Bytes that everything but the products of a layer moves through memory.

Written out, each operation of a norm, a rotation or an adapter reads and writes its tensors: counted by line in
Transformers' ``LlamaRMSNorm`` and ``apply_rotary_pos_emb`` (models/llama/modeling_llama.py), in PEFT's
``Linear.forward`` (tuners/lora/layer.py) and in ``dequantize_4bit`` of bitsandbytes (functional.py), read 2026-11-29.
"""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.train.recommend.model.shapes import Kind, Model, active_mlp_matrix, attention_matrix
from rocdoctor.train.recommend.model.spec import Work


@dataclass(frozen=True, slots=True)
class Moved:
    """Bytes of the forward and of the backward pass."""

    forward: float
    backward: float

    def __add__(self, other: Moved) -> Moved:
        return Moved(self.forward + other.forward, self.backward + other.backward)

    def __mul__(self, count: float) -> Moved:
        return Moved(self.forward * count, self.backward * count)


# RMSNorm an element: to fp32 (2 + 4), square (4 + 4), mean (4), times the root (4 + 4), to 16 bits (4 + 2), times the
# weight (2 + 2). Back: weight (2 + 2), to fp32 (2 + 4), times the root (4 + 4), gradient of the root (8 + 4 + 4) and of
# the square (4 + 4 + 4 + 4), their sum (8 + 4), to 16 bits (4 + 2).
_NORM = Moved(36.0, 68.0)
# A rotation an element: times the cosine (2 + 2), half of it negated (1 + 1), joined (2 + 2), times the sine (2 + 2),
# and the sum (4 + 2). Back: both products (4 + 4), the two halves put into zeros and added (10), the sum (4 + 2).
_ROTATION = Moved(20.0, 24.0)
# The gate: its activation (2 + 2) and the product (4 + 2). Back: two products (4 + 2 each), the activation (4 + 2).
_GATE = Moved(10.0, 18.0)
# Two sums with the residual stream (4 + 2 each).
_RESIDUAL = Moved(12.0, 12.0)
# An adapter's input: read; back the gradient (2), its sum with that of the base (4 + 2) and the input again (2). One in
# fp32 copies it to fp32 (2 + 4), and autocast back (4 + 2).
_INPUT, _INPUT_IN_32 = Moved(2.0, 10.0), Moved(14.0, 22.0)
# Its output: written (2), scaled (2 + 2) and added (4 + 2); back scaled (2 + 2), and read by two products.
_OUTPUT = Moved(12.0, 8.0)


def _written_out(work: Work) -> bool:
    """Whether norms and rotations run as the model code of Hugging Face has them: Liger's kernels replace both."""
    return work.transformers and not work.compile and not work.liger and work.model.norm == "rms"


def elementwise_bytes(work: Work, kind: Kind, again: float) -> float:
    """Bytes a token that norms, rotation, gate, residuals and casts of one layer move, in all passes; ``again`` is the
    share of the layer that is computed again."""
    moved = (_plain(work, kind) if _written_out(work) else _fused(work, kind)) + _adapters(work)
    return moved.forward * (1 + again) + moved.backward


def _route(model: Model, kind: Kind) -> float:
    return 8.0 * model.top_k * model.hidden if kind == "moe" else 0.0


def _width(model: Model, kind: Kind) -> int:
    return model.ffn if kind == "dense" else model.top_k * model.expert_ffn


def _plain(work: Work, kind: Kind) -> Moved:
    model, route = work.model, _route(work.model, kind)
    total = _NORM * (model.norms * model.hidden) + _ROTATION * (model.q_width + model.k_width)
    gate = _GATE if model.gated else Moved(4.0, 6.0)
    return total + gate * _width(model, kind) + _RESIDUAL * model.hidden + Moved(route, 2 * route)


def _fused(work: Work, kind: Kind) -> Moved:
    """Kernels of a compiler, a library or torch: the backward pass moves about twice as much."""
    model, width = work.model, _width(work.model, kind)
    h = model.hidden
    fused = work.compile or work.framework == "megatron" or model.norm == "layer" or work.liger
    norms = model.norms * 4.0 * h * (1 if fused else 3)
    rotate = 4.0 * (model.q_width + model.k_width) * (1 if fused else 3) if model.family != "mpt" else 0.0
    gate = (6.0 if fused else 10.0) * width if model.gated else 4.0 * width
    total = norms + rotate + gate + _route(model, kind) + 12.0 * h
    if work.precision.startswith("fp8"):
        # Every operand is read, measured and written in 8 bits.
        passes = 2 if work.precision == "fp8-rowwise" else 1
        total += passes * 5.0 * (2 * h + model.o_width + width)
    return Moved(total, 2 * total)


def _adapters(work: Work) -> Moved:
    """Input and output of each adapted layer."""
    found = Moved(0.0, 0.0)
    if work.method == "full" or work.compile or not work.transformers:
        return found
    model = work.model
    h, ffn = model.hidden, model.ffn
    widths = {"q": (h, model.q_width), "k": (h, model.k_width), "v": (h, model.v_width), "o": (model.o_width, h)}
    widths |= {"up": (h, ffn), "down": (ffn, h)} | ({"gate": (h, ffn)} if model.gated else {})
    read = _INPUT if work.pure_bf16 else _INPUT_IN_32
    for name, (into, out) in widths.items():
        if work.reads_input(name):
            found = found + read * into + _OUTPUT * out
    return found


def unpacked_bytes(work: Work, kind: Kind, again: float) -> float:
    """Bytes that unpacking the 4-bit weights of one layer moves in a micro-batch: 4.127 bits read and 16 written, for
    the forward pass, once more where it is repeated, and for the gradient of the input."""
    if work.method != "qlora":
        return 0.0
    # Experts of transformers 5 stay in 16 bits (memory/gpu_memory.py).
    count = attention_matrix(work.model) + (active_mlp_matrix(work.model, kind) if kind == "dense" else 0)
    return (4.127 / 8 + 2.0) * count * (2 + again)
