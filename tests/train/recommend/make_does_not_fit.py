"""Makes the traced cases of ``does_not_fit.yaml`` anew (``python -m tests.train.recommend.make_does_not_fit``).

Each kind of configuration below starts small; its micro-batch or its sequence is doubled until the live memory that a
trace with fake tensors shows (``rocdoctor estimate --trace``) is more than the card has for programs. Depths at which
the closed form sees less than half of the card are not traced. Cases without ``by: trace`` are left as they are.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from rocdoctor.host.live.memory_tracing import trace_memory
from rocdoctor.train.recommend.estimate import efficiency, solve
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.trace import memory, read, refusal, request

FILE = Path(__file__).parent / "does_not_fit.yaml"
_LIMIT_S = 300.0

_GPT_1B = {
    "name": "gpt-like 1.3b",
    "layers": 24,
    "hidden": 2048,
    "heads": 16,
    "ffn": 8192,
    "vocab": 50304,
    "gated": False,
    "norm": "layer",
    "bias": True,
}
_WIDE_2B = {"name": "wide 2b", "layers": 16, "hidden": 3072, "heads": 24, "kv_heads": 8, "ffn": 8192, "vocab": 152064}
_DEEP_20B = {"name": "deep 20b", "layers": 60, "hidden": 5120, "heads": 40, "kv_heads": 8, "ffn": 14336, "vocab": 65536}

# Card (name, GiB), GPUs, models that come near its size, and how the work is divided.
_CARDS: tuple[tuple[str, float, int, tuple[Any, ...], str], ...] = (
    ("RX 7600", 8, 1, ("llama-3.2-1b",), "ddp"),
    ("RX 7600", 8, 4, ("llama-3.2-1b", _GPT_1B), "fsdp"),
    ("RX 6700 XT", 12, 2, ("llama-3.2-1b", _GPT_1B), "fsdp"),
    ("RX 7800 XT", 16, 4, ("llama-3.2-1b", "gemma-2b", _WIDE_2B), "fsdp"),
    ("RX 7900 XTX", 24, 2, (_GPT_1B, "llama-3.2-1b"), "ddp"),
    ("RTX 4090", 24, 8, ("llama-3.2-3b", "gemma-2b", "qwen2.5-7b"), "fsdp"),
    ("Radeon AI PRO R9700", 32, 4, ("llama-3.2-3b", _WIDE_2B), "fsdp"),
    ("W7900", 48, 2, ("llama-3.2-1b", _WIDE_2B), "ddp"),
    ("MI210", 64, 8, ("llama-2-7b", "pythia-6.9b", "qwen3-14b"), "fsdp"),
    ("MI210", 64, 4, ("llama-3.2-3b", "gemma-2b"), "ddp"),
    ("A100-SXM4-80GB", 80, 16, ("llama-2-13b", "mistral-7b", _DEEP_20B), "fsdp"),
    ("H100 80GB HBM3", 80, 64, ("llama-3.1-70b", "llama-3.1-8b"), "fsdp"),
    ("H100 80GB HBM3", 80, 8, ("llama-3.2-3b",), "ddp"),
    ("MI300X", 192, 16, ("llama-3.1-70b", "phi-4", _DEEP_20B), "fsdp"),
    ("MI300X", 192, 8, ("llama-2-7b",), "ddp"),
)
# What is doubled, recompute, and settings that change what a step keeps.
_WAYS: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    ("micro_batch", "none", {}),
    ("seq", "full", {}),
    ("seq", "selective-op", {"grad_accum": 4}),
    ("micro_batch", "none", {"precision": "fp32"}),
    ("micro_batch", "full", {"method": "full"}),
)


def _kinds() -> Iterator[tuple[dict[str, Any], str]]:
    """Specifications to start from, and the field that grows."""
    ways = itertools.cycle(_WAYS)
    for name, size, gpus, models, split in _CARDS:
        for model in models:
            for _ in range(3):
                grows, recompute, more = next(ways)
                framework = "ddp" if split == "ddp" else "fsdp2"
                parallel = {"dp": gpus} if split == "ddp" else {"fsdp": gpus}
                yield (
                    {
                        "model": model,
                        "gpu": {"name": name, "mem_gib": size},
                        "gpus": gpus,
                        "seq": 1024,
                        "micro_batch": 1,
                        "parallel": parallel if gpus > 1 else {},
                        "recompute": recompute,
                        "precision": "bf16",
                        "framework": framework,
                        **more,
                    },
                    grows,
                )


def _live_gib(spec: Mapping[str, Any], python: str | None) -> float:
    """Traced live peak of one GPU in GiB."""
    one = solve(spec)
    why = refusal(one.work)
    if why is not None:
        raise SystemExit(f"{spec}: {why}")
    answer = trace_memory(python, request(one.work), _LIMIT_S)
    told = read(answer.text, one.work.model.layers) if answer.ok else answer.status
    if isinstance(told, str):
        raise SystemExit(f"{spec}: {told}")
    return memory(one.work, one.memory, told, efficiency()["memory"]).live_peak / GIB


def _grown(spec: dict[str, Any], grows: str, python: str | None) -> dict[str, Any]:
    """The first doubling whose traced live memory is more than the card has."""
    while True:
        one = solve(spec)
        usable = one.work.gpu.usable_bytes / GIB
        if one.memory.live_peak / GIB > usable / 2:
            live = _live_gib(spec, python)
            if live > usable:
                return {**spec, "by": "trace", "live_gib": round(live, 1)}
        spec = {**spec, grows: spec[grows] * 2}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--python", help="the interpreter with torch")
    python = options.parse_args().python
    text = FILE.read_text(encoding="utf-8")
    head = "".join(line + "\n" for line in itertools.takewhile(lambda one: one.startswith("#"), text.splitlines()))
    kept = [one for one in yaml.safe_load(text)["cases"] if one.get("by") != "trace"]
    made: list[dict[str, Any]] = []
    for spec, grows in _kinds():
        case = _grown(spec, grows, python)
        if case not in made:
            made.append(case)
        print(f"{len(made)}: {case}", file=sys.stderr)
    lines = [yaml.safe_dump(one, default_flow_style=True, sort_keys=False, width=10_000).strip() for one in kept + made]
    FILE.write_text(head + "cases:\n" + "".join(f"- {one}\n" for one in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
