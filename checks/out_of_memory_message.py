"""A program ran out of GPU memory.

Why
  An allocation failed although the program works: the model, batch or sequence is too large, another or a left-over
  process holds the memory, or the memory that torch has reserved is in pieces that are too small (fragmentation).

Fix
  Look for other processes on the GPU first. Then try a smaller micro-batch with accumulation, activation checkpointing,
  half precision, sharded states or offload. If much memory is reserved but unallocated, try expandable segments.

References
  https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
  https://huggingface.co/docs/transformers/perf_train_gpu_one
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import is_integrated
from rocdoctor.insight.texts.model_weights import weights_too_large
from rocdoctor.insight.texts.pasted import first_value, in_wsl, said, shown, vendors, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error, warning
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.units import binary_size

_SIZE = regex(r"([\d.]+) ([KMGT])iB")
# A program that caught the failure and goes on.
_HANDLED = regex(
    r"(?i)\b(?:skipp(?:ing|ed) (?:this |the )?(?:batch|sample|config|step|candidate)|(?:will )?retry(?:ing)? with|"
    r"recovered from|(?:reducing|halving|lowering) (?:the )?batch)"
)
_SHARE = (
    "Give the integrated GPU more: a larger UMA frame buffer (carve-out) in the BIOS, or a higher limit of shared "
    "memory "
    "(GTT: ttm.pages_limit=NUMBER_OF_4K_PAGES on the kernel command line, older kernels amdgpu.gttsize)"
)
# Of how many times the asked size as much free memory says that something else ran out (own judgement).
_AMPLE = 4
_GIB = {"K": 1 / (1 << 20), "M": 1 / 1024, "G": 1.0, "T": 1024.0}


def _on_apu(machine: Machine) -> bool:
    """Whether the only AMD GPU of the evidence is the processor's."""
    if machine.gpus:
        return all(is_integrated(gpu) for gpu in machine.gpus)
    return bool(said(machine, "processor-has-graphics"))


def _gib(text: str | None) -> float | None:
    if text == "0 bytes":
        return 0.0
    found = _SIZE.match(text or "")
    try:
        return float(found.group(1)) * _GIB[found.group(2)] if found else None
    except ValueError:
        return None


def _unused(messages: tuple[Message, ...]) -> float | None:
    """GiB that torch keeps from the GPU without using them: new wording, that of torch 1.3, and of 1.4 to 2.0."""
    said_so = first_value(messages, "reserved", "cached")
    if said_so is not None:
        return _gib(said_so)
    kept, held = _gib(first_value(messages, "kept")), _gib(first_value(messages, "held"))
    return None if kept is None or held is None else kept - held


@check(when_said("out-of-memory", "out-of-memory-words"), cause="out-of-memory")
def out_of_memory_message(machine: Machine) -> Outcome:
    messages = tuple(one for one in said(machine, "out-of-memory") if not _HANDLED.search(one.text))
    words = not messages
    messages = messages or tuple(one for one in said(machine, "out-of-memory-words") if not _HANDLED.search(one.text))
    if not messages:
        return None
    tried, total = first_value(messages, "tried"), first_value(messages, "total", "total2")
    free, other = first_value(messages, "free"), first_value(messages, "other")
    mine = first_value(messages, "mine")
    backend = "HIP" if first_value(messages, "backend") == "HIP" or vendors(machine) == {"amd"} else "CUDA"
    figures = [
        f"{tried} more were asked for" if tried else "",
        f"{total} in all" if total else "",
        f"{free} free" if free else "",
        f"{mine} held by this process" if mine else "",
        f"{other} by another" if other else "",
    ]
    shape = "; ".join(one for one in figures if one)
    text = f"The GPU memory is exhausted (out of memory){f': {shape}' if shape else ''}."
    conf = "PYTORCH_HIP_ALLOC_CONF" if backend == "HIP" else "PYTORCH_CUDA_ALLOC_CONF"
    way = (
        "Look for other or leftover processes on the GPU and end them; then use a smaller batch size "
        "(micro-batch with "
        "gradient accumulation), a shorter sequence or smaller image, activation (gradient) checkpointing, half "
        "precision "
        "or quantisation, sharding (FSDP, ZeRO) or offload"
    )
    asked, room, unused = _gib(tried), _gib(free), _unused(messages)
    allowed = first_value(messages, "allowed")
    elsewhere = False
    if asked is not None and _gib(total) is not None and asked > (_gib(total) or 0):
        way = f"One allocation of {tried} is larger than the whole GPU: make the batch, sequence or image smaller"
        way += ", or use attention that does not build the full matrix (SDPA)"
    elif other is not None and (_gib(other) or 0) > (_gib(mine) or 0):
        text += " Most of it belongs to another process."
    elif unused is not None and unused > (asked if asked is not None else 1):
        text += " The free memory is in pieces (fragmentation)."
        way = f"Set {conf}=expandable_segments:True (or max_split_size_mb) against fragmentation. {way}"
    elif allowed:
        text += f" A limit set for this process allows it only {allowed}."
        way = (
            f"Look for set_per_process_memory_fraction in the program, or per_process_memory_fraction in {conf}. {way}"
        )
    elif asked is not None and room is not None and asked * _AMPLE <= room:
        elsewhere = True
        text += (
            " Far more was free than was asked for, and almost nothing is held back, so the GPU's memory may not be "
            "what ran out: main memory (on Windows, the page file), a limit of the process (ulimit -v, container), or "
            "a peak of another process."
        )
        way = (
            "Look at main memory and its limits while the program starts (free -h, ulimit -v; on Windows, enlarge the "
            f"page file), and at other programs on the GPU. If those are fine: {way[0].lower()}{way[1:]}"
        )
    elif asked is not None and room is not None and asked < room:
        text += " That much was free when the message was written: another process may have held it a moment before."
    if other is None and (large := weights_too_large(machine, _gib(total))) is not None:
        text += (
            f" The weights of {large.model} alone are {large.weights_gib:.1f} GiB in {large.format} ({large.billions} "
            f"billion parameters), and one GPU has {large.gpu_gib:.1f} GiB: they do not fit."
        )
        fits = f" (about {large.in_four_bit_gib:.1f} GiB)" if large.in_four_bit_gib < 0.9 * large.gpu_gib else ""
        smaller = f"Load the weights in 4 bits{fits}, split" if fits else "Split"
        way = f'{smaller} the model over several GPUs or main memory (device_map="auto", tensor parallelism), or use a '
        way += "smaller model"
    if vendors(machine) == {"amd"} and _on_apu(machine):
        text += " It is an integrated GPU, which uses the share of main memory assigned to it."
        way = f"{_SHARE}. {way}"
    full = [
        (used, all_of)
        for gpu in machine.gpus
        if (used := value_or(gpu.vram_used_bytes, 0)) > 0.5 * (all_of := value_or(gpu.vram_bytes, 0)) > 0
    ]
    if full and other is None:
        used, all_of = full[0]
        text += f" {binary_size(used)} of {binary_size(all_of)} are in use, by another or a leftover process."
    wsl = " In WSL Windows shares the memory." if in_wsl(machine) else ""
    tool = "rocm-smi --showpids; rocm-smi --showmeminfo vram" if backend == "HIP" else "nvidia-smi"
    return (error if full or not words else warning)(
        text,
        evidence=shown(messages),
        fix=Fix(f"{way}.{wsl}", command=tool, safety="safe", verify=tool),
        confidence="likely" if words and full else "possible" if words or elsewhere else "certain",
        finer="host-memory" if elsewhere else "",
    )
