"""Keys inside sections that accelerate 1.15.0 passes over without a word when unknown.

From the parser of ``accelerate/commands/launch.py`` (unknown keys of the top level are refused there).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ACCELERATE: Mapping[str, frozenset[str]] = {
    "fsdp_config": frozenset(
        {
            "fsdp_activation_checkpointing",
            "fsdp_activation_checkpointing_offload",
            "fsdp_auto_wrap_policy",
            "fsdp_cpu_ram_efficient_loading",
            "fsdp_min_num_params",
            "fsdp_offload_params",
            "fsdp_reshard_after_forward",
            "fsdp_state_dict_type",
            "fsdp_transformer_layer_cls_to_wrap",
            "fsdp_version",
        }
    ),
    "deepspeed_config": frozenset({"deepspeed_config_file", "deepspeed_multinode_launcher", "zero3_init_flag"}),
    "dynamo_config": frozenset({"dynamo_backend", "dynamo_mode", "dynamo_use_dynamic", "dynamo_use_fullgraph"}),
}


def unknown(config: Mapping[str, Any]) -> list[str]:
    """Paths in the sections of an accelerate file that it would neither read nor refuse."""
    return [f"{name}.{key}" for name, known in ACCELERATE.items() for key in config.get(name) or {} if key not in known]
