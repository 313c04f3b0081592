"""Specifications that tests start from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LLAMA_7B: dict[str, Any] = {
    "model": "llama-2-7b",
    "gpu": {"name": "MI300X", "mem_gib": 192},
    "gpus": 8,
    "seq": 2048,
    "micro_batch": 1,
    "parallel": {"fsdp": 8},
    "recompute": "none",
    "precision": "bf16",
}


def changed(**fields: Any) -> dict[str, Any]:
    """The 7B specification with other fields; None removes one."""
    merged: Mapping[str, Any] = {**LLAMA_7B, **fields}
    return {key: value for key, value in merged.items() if value is not None}
