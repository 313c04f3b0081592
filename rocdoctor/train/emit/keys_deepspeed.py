"""Keys that DeepSpeed 0.19.8 reads where it passes over unknown ones without a word.

From ``deepspeed/runtime/config.py`` and what its ``DeepSpeedConfig`` was seen to ask of a recording mapping. The other
sections (``zero_optimization``, ``bf16``, ``fp16``) are pydantic models there that refuse what they do not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KEYS: Mapping[str, frozenset[str]] = {
    "": frozenset(
        {
            "bf16",
            "checkpoint",
            "communication_data_type",
            "compile",
            "data_types",
            "dataloader_drop_last",
            "fp16",
            "gradient_accumulation_steps",
            "gradient_clipping",
            "gradient_predivide_factor",
            "optimizer",
            "prescale_gradients",
            "scheduler",
            "steps_per_print",
            "train_batch_size",
            "train_micro_batch_size_per_gpu",
            "wall_clock_breakdown",
            "zero_allow_untested_optimizer",
            "zero_force_ds_cpu_optimizer",
            "zero_optimization",
        }
    ),
    "data_types": frozenset({"buffer_dtype", "grad_accum_dtype", "keep_in_fp32_modules", "param_dtype"}),
    "optimizer": frozenset({"legacy_fusion", "params", "type"}),
}


def unknown(config: Mapping[str, Any]) -> list[str]:
    """Paths of a configuration that DeepSpeed would not read and not refuse either."""
    found = [key for key in config if key not in KEYS[""]]
    for section in ("data_types", "optimizer"):
        found += [f"{section}.{key}" for key in config.get(section, {}) if key not in KEYS[section]]
    return found
