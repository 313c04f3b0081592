"""Whether the weights of a model that a text names are larger than the memory of its GPUs: plain arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocdoctor.insight.texts.pasted import said
from rocdoctor.knowledge.lookup import profiles_by_name
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.lazy_re import regex

_GIB = 1 << 30
_NAMED_SIZE = regex(r"(?i)\b(\d{1,3}) ?Gi?B\b")
_USUAL_BITS = 16  # what a text means that names no number format
# Of a line only the first model and format is a value; what else it names makes the arithmetic unclear.
_SIZES = regex(r"[-_ :](\d{1,3}(?:\.\d{1,2})?)[bB](?!\w)")
_FORMATS = (
    (32, regex(r"(?i)\b(?:float|fp)32\b")),
    (16, regex(r"(?i)\b(?:b?float16|b?f16|fp16|half precision|16[- ]?bit)\b")),
    (8, regex(r"(?i)\b(?:load_in_8bit|int8|fp8|8[- ]?bit)\b")),
    (4, regex(r"(?i)\b(?:load_in_4bit|int4|nf4|gptq|awq|gguf|qlora|4[- ]?bit)\b")),
)


@dataclass(frozen=True, slots=True)
class TooLarge:
    """A model whose weights alone do not fit: their sizes in GiB, as named and in 4 bit."""

    model: str
    billions: str
    format: str
    weights_gib: float
    in_four_bit_gib: float
    gpu_gib: float


def weights_too_large(machine: Machine, total_gib: float | None) -> TooLarge | None:
    """The one named model, where its weights are larger than all named GPUs; None where something is not clear.

    ``total_gib`` is the GPU's memory as the message tells it; else the smallest of the GPUs that are named.
    """
    room = total_gib or smallest_gpu(machine)
    models = said(machine, "model-size-named")
    sizes, widths = _sizes_of(models), named_widths(machine)
    if room is None or len(sizes) != 1 or len(widths) > 1:
        return None
    billions, model = sizes.pop(), models[0].values["model"]
    bits = widths.pop() if widths else _USUAL_BITS
    name = "float32" if bits == 32 else f"{bits} bit"
    weights = float(billions) * 1e9 * bits / 8 / _GIB
    if weights <= room * max(1, len(machine.gpus)):
        return None
    return TooLarge(str(model), str(billions), str(name), weights, float(billions) * 1e9 / 2 / _GIB, room)


def named_sizes(machine: Machine) -> set[str]:
    """The sizes of all models that the text names, in billions of parameters."""
    alone = {str(one.values["billions"]) for one in said(machine, "sized-model-named")}
    return _sizes_of(said(machine, "model-size-named")) | alone


def _sizes_of(models: Sequence[Message]) -> set[str]:
    return {size for one in models for size in _SIZES.findall(one.text)}


def named_widths(machine: Machine) -> set[int]:
    """The widths of all number formats that the text names, in bits."""
    formats = said(machine, "precision-named")
    return {bits for one in formats for bits, words in _FORMATS if words.search(one.text)}


def smallest_gpu(machine: Machine) -> float | None:
    """The memory of the smallest GPU that is named, in GiB, from the evidence or else from its profile."""
    sizes = []
    for gpu in machine.gpus:
        shown = value_or(gpu.vram_bytes, None)
        if shown is None and (named := _NAMED_SIZE.search(value_or(gpu.name, ""))):
            shown = int(named[1]) * _GIB
        profiles = () if shown is not None else profiles_by_name(value_or(gpu.name, ""))
        figures = {value for one in profiles if one.vram_gib is not None for value in one.vram_gib.values}
        if shown is None and len(figures) != 1:
            return None
        sizes.append(shown / _GIB if shown is not None else figures.pop())
    return min(sizes) if sizes else None
