"""Run by torchtitan's environment: reads command lines as torchtitan does and prints what came of each as JSON.

Standard input is a list of command lines (words after ``torchtitan.train``).
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from importlib import import_module
from types import SimpleNamespace
from typing import Any

_PARTS = ("training", "parallelism", "compile", "optimizer", "loss")


def _read(words: list[str]) -> dict[str, Any]:
    """The configuration, or why torchtitan refuses the words."""
    manager = import_module("torchtitan.config").ConfigManager()
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            config = manager.parse_args(words)
    except SystemExit:
        return {"error": said.getvalue()}
    except Exception as problem:
        return {"error": f"{type(problem).__name__}: {problem}"}
    found: dict[str, Any] = {}
    for part in _PARTS:
        value = getattr(config, part)
        found[part] = {name: getattr(value, name) for name in value.__dataclass_fields__}
    found["optimizer"] = {
        "implementation": config.optimizer.implementation,
        "names": [one.optimizer_name for one in config.optimizer.param_groups],
    }
    found["loss"] = {"num_chunks": config.loss.num_chunks}
    policy = config.activation_checkpoint
    found["policy"] = None if policy is None else type(policy).__qualname__.partition(".")[0]
    found["model"] = _model(config.model_spec.model)
    found |= _layout(config)
    return found


def _model(model: Any) -> dict[str, Any]:
    """Sizes of the model as torchtitan builds it; the parameters counted on a device without memory."""
    torch = import_module("torch")
    with torch.device("meta"):
        built = model.build()
    parameters = {id(one): one.numel() for one in built.parameters()}
    return {
        "parameters": sum(parameters.values()),
        "layers": len(model.layers),
        "hidden": model.dim,
        "vocab": model.vocab_size,
        "longest": model.max_seq_len,
    }


def _layout(config: Any) -> dict[str, Any]:
    """What torchtitan's own rules say of the sizes for the ranks that they multiply to, and how it cuts the layers."""
    one = config.parallelism
    ranks = (
        one.data_parallel_replicate_degree
        * one.data_parallel_shard_degree
        * one.context_parallel_degree
        * one.tensor_parallel_degree
        * one.pipeline_parallel_degree
    )
    found: dict[str, Any] = {"ranks": ranks, "layout": ""}
    try:
        dims = import_module("torchtitan.distributed").ParallelDims.from_config(one, ranks)
        config.model_spec.model.update_from_config(config=config)
        if one.pipeline_parallel_degree > 1:
            found |= _stages(config, dims)
    except Exception as problem:
        found["layout"] = f"{type(problem).__name__}: {problem}"
    return found


def _stage(stage: int, count: int, ranks: int, placed: Any) -> SimpleNamespace:
    """What a schedule asks of a stage before it runs."""
    return SimpleNamespace(
        stage_index=stage,
        num_stages=count,
        group_size=ranks,
        group_rank=0,
        stage_index_to_group_rank=placed,
        has_backward=True,
        is_first=stage == 0,
        is_last=stage == count - 1,
        device="cpu",
        submod=None,
    )


def _stages(config: Any, dims: Any) -> dict[str, Any]:
    """Layers of each stage, stages of each rank, and the stages of torch's schedule for these micro-batches."""
    module = import_module("torchtitan.distributed.pipeline_parallel")
    one, model = config.parallelism, config.model_spec.model
    count, layers, first, last = module._get_pipeline_metadata(dims, one, model)
    parts = module._generate_llm_fqn_per_model_part(count, layers, first, last)
    name, ranks = one.pipeline_parallel_schedule, one.pipeline_parallel_degree
    stages = [sum(part.startswith("layers.") for part in parts[stage]) for stage in range(count)]
    style = "v" if name == "ZBVZeroBubble" else "loop"
    schedules = import_module("torch.distributed.pipelining.schedules")
    placed = import_module("torch.distributed.pipelining._utils").generate_stage_to_rank_mapping(
        ranks, count, style=style
    )
    placement = [[stage for stage, rank in placed.items() if rank == place] for place in range(ranks)]
    kind = schedules.get_schedule_class(name)
    local = [_stage(stage, count, ranks, placed) for stage in placement[0]]
    batches = config.training.local_batch_size // one.pipeline_parallel_microbatch_size
    many = issubclass(kind, schedules.PipelineScheduleMulti)
    built = kind(local if many else local[0], n_microbatches=batches, loss_fn=lambda *words: None)
    return {"stages": stages, "placement": placement, "schedule": built._num_stages}


if __name__ == "__main__":
    import_module("stand_in").install()
    json.dump([_read(words) for words in json.load(sys.stdin)], sys.stdout, default=str)
