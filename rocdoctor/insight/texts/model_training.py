"""Whether training all weights of a named model needs more than the named GPUs have: plain arithmetic, a lower bound.

Each weight has a gradient, and Adam keeps two values more. In the smallest usual form all four have the format of the
weights: 16 bytes a parameter in float32, 8 in a 16 bit format (mixed precision needs 16 or more). Activations come on
top. Sources: torch.optim.AdamW (exp_avg and exp_avg_sq like the parameters); Hugging Face documentation, "Methods and
tools for efficient training on a single GPU" (model weights, gradients, optimizer states).
"""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.insight.texts.model_weights import named_sizes, named_widths, smallest_gpu
from rocdoctor.insight.texts.pasted import said
from rocdoctor.model.facts import Machine

_GIB = 1 << 30
_VALUES, _OF_ADAM = 2, 2  # the weight and its gradient; Adam's two


@dataclass(frozen=True, slots=True)
class TooLargeToTrain:
    """A model whose weights, gradients and optimizer states alone do not fit (sizes in GiB)."""

    billions: str
    format: str
    bytes_each: int
    adam: bool
    needed_gib: float
    gpu_gib: float
    gpus: int


def training_too_large(machine: Machine, total_gib: float | None = None) -> TooLargeToTrain | None:
    """The one model of which all weights are trained; None where it fits all GPUs together, or something is not clear.

    Without a named optimizer only the weights and their gradients count.
    """
    if not said(machine, "full-training-named"):
        return None
    adam = bool(said(machine, "adam-named"))
    sizes, widths = named_sizes(machine), named_widths(machine)
    gpu = total_gib or smallest_gpu(machine)
    if gpu is None or len(sizes) != 1 or not widths <= {16, 32} or len(widths) > 1:
        return None
    bits = min(widths, default=16)
    billions = sizes.pop()
    each = (_VALUES + (_OF_ADAM if adam else 0)) * bits // 8
    needed = float(billions) * 1e9 * each / _GIB
    count = max(1, len(machine.gpus))
    if needed <= gpu * count:
        return None
    return TooLargeToTrain(billions, "float32" if bits == 32 else "16 bit", each, adam, needed, gpu, count)
