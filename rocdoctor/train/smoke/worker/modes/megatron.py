"""Megatron-core's tensor-parallel layers, each rank its own parts against one process. Started by torchrun."""

from __future__ import annotations

from typing import Any

from .. import model as models
from .. import torchrun
from ..compare import BACKWARD_TURN
from ..launched import LaunchedContext
from ..mode import Launch, LaunchPlan, Mode
from ..tolerance import Proof, usual

ORDER = 230
# Weights as (rows, columns) of torch.nn.functional.linear, and the dimension that is split over the ranks.
_SPLIT = {"embedding.weight": 0, "up.weight": 0, "up.bias": 0, "down.weight": 1, "head.weight": 0}


def tensor_parallel(context: LaunchedContext) -> None:
    """Embedding, column- and row-parallel projections, parallel cross-entropy."""
    _layers(context, sequence=False)


def sequence_parallel(context: LaunchedContext) -> None:
    """The same with the sequence split between the projections."""
    _layers(context, sequence=True)


def _layers(context: LaunchedContext, sequence: bool) -> None:
    torch = context.torch
    context.form()
    if context.comparison.faults:
        return
    context.mark("import megatron.core")
    from megatron.core import (  # type: ignore[import-not-found, unused-ignore]
        ModelParallelConfig,
        parallel_state,
        tensor_parallel,
    )

    context.mark("initialize_model_parallel")
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=context.world)
    size, rank = (
        parallel_state.get_tensor_model_parallel_world_size(),
        parallel_state.get_tensor_model_parallel_rank(),
    )
    context.expect(
        "input",
        "megatron.core",
        (size, rank) == (context.world, context.rank),
        f"makes rank {context.rank} number {rank} of {size}",
        layer="configuration",
    )
    if context.comparison.faults:
        return
    sizes = context.sizes
    config = ModelParallelConfig(
        tensor_model_parallel_size=context.world,
        sequence_parallel=sequence,
        params_dtype=torch.float32,
        use_cpu_initialization=True,
        gradient_accumulation_fusion=False,
        perform_initialization=False,
    )
    common: dict[str, Any] = {"config": config, "init_method": torch.nn.init.zeros_}
    layers = torch.nn.ModuleDict(
        {
            "embedding": _embedding(tensor_parallel, sizes, sequence, common),
            "up": tensor_parallel.ColumnParallelLinear(sizes.width, 4 * sizes.width, gather_output=False, **common),
            "down": tensor_parallel.RowParallelLinear(
                4 * sizes.width, sizes.width, input_is_parallel=True, bias=False, skip_bias_add=False, **common
            ),
            "head": tensor_parallel.ColumnParallelLinear(
                sizes.width, sizes.vocabulary, bias=False, gather_output=False, **common
            ),
        }
    ).to(context.device)
    whole = _weights(context)
    with torch.no_grad():
        for name, one in layers.named_parameters():
            one.copy_(_part(context, name, whole[name]))
    _train(context, layers, tensor_parallel.vocab_parallel_cross_entropy, whole, sequence)


def _embedding(library: Any, sizes: Any, sequence: bool, common: dict[str, Any]) -> Any:
    """The embedding; with a split sequence it gives each rank the sum of its own rows of the sequence."""
    return library.VocabParallelEmbedding(sizes.vocabulary, sizes.width, reduce_scatter_embeddings=sequence, **common)


def _weights(context: LaunchedContext) -> dict[str, Any]:
    sizes, torch = context.sizes, context.torch
    shapes = {
        "embedding.weight": (sizes.vocabulary, sizes.width),
        "up.weight": (4 * sizes.width, sizes.width),
        "up.bias": (4 * sizes.width,),
        "down.weight": (sizes.width, 4 * sizes.width),
        "head.weight": (sizes.vocabulary, sizes.width),
    }
    generator = torch.Generator().manual_seed(31)
    return {name: torch.randn(shape, generator=generator).to(context.device) / 6 for name, shape in shapes.items()}


def _part(context: LaunchedContext, name: str, whole: Any) -> Any:
    return whole.chunk(context.world, _SPLIT[name])[context.rank]


def _train(context: LaunchedContext, layers: Any, entropy: Any, whole: dict[str, Any], sequence: bool) -> None:
    """Two steps of SGD. Megatron's order of dimensions is (sequence, batch, width)."""
    torch = context.torch
    functional = torch.nn.functional
    plain = {name: one.clone().requires_grad_() for name, one in whole.items()}
    for step, (tokens, targets) in enumerate(context.batches()):
        context.mark(f"step {step}: one process")
        embedded = functional.embedding(tokens, plain["embedding.weight"]).transpose(0, 1)
        raised = functional.linear(embedded, plain["up.weight"], plain["up.bias"])
        lowered = functional.linear(functional.gelu(raised), plain["down.weight"]) + embedded
        logits = functional.linear(lowered, plain["head.weight"])
        wanted = models.loss_of(torch, logits.transpose(0, 1), targets)
        grads = dict(zip(plain, torch.autograd.grad(wanted, list(plain.values()))))

        context.mark(f"step {step}: embedding")
        got_embedded = layers["embedding"](tokens)
        if not sequence:
            got_embedded = got_embedded.transpose(0, 1)
        shown = embedded.chunk(context.world)[context.rank] if sequence else embedded
        context.check("value", "sum of the parts of the embedding", got_embedded, shown, step=step, turn=1)
        context.mark(f"step {step}: column-parallel projection")
        got_raised, _ = layers["up"](got_embedded)
        context.check(
            "value",
            "this rank's columns of the projection",
            got_raised,
            raised.chunk(context.world, -1)[context.rank],
            step=step,
            turn=2,
        )
        context.mark(f"step {step}: row-parallel projection")
        got_lowered = layers["down"](functional.gelu(got_raised))[0] + got_embedded
        shown = lowered.chunk(context.world)[context.rank] if sequence else lowered
        context.check("value", "sum of the row-parallel projection", got_lowered, shown, step=step, turn=3)
        context.mark(f"step {step}: parallel cross-entropy")
        got_logits, _ = layers["head"](got_lowered)
        loss = entropy(got_logits.contiguous(), targets.transpose(0, 1).contiguous()).mean()
        context.check("loss", "loss", loss, wanted, step=step)
        context.mark(f"step {step}: backward")
        layers.zero_grad()
        loss.backward()
        parts = {name: _part(context, name, one) for name, one in grads.items()}
        turns = {"head.weight": 0, "down.weight": 1, "up.weight": 2, "up.bias": 2, "embedding.weight": 3}
        context.check_all(
            "grad",
            models.gradients(layers),
            parts,
            step=step,
            turns={name: BACKWARD_TURN + turn for name, turn in turns.items()},
        )
        with torch.no_grad():
            for one in layers.parameters():
                one.sub_(0.1 * one.grad)
            for name, one in plain.items():
                one.sub_(0.1 * grads[name])
        context.check_all(
            "param",
            models.parameters(layers),
            {name: _part(context, name, one.detach()) for name, one in plain.items()},
            step=step,
        )


def _command(plan: LaunchPlan) -> list[str]:
    return torchrun.command(plan)


def _environment(_: str) -> dict[str, str]:
    return {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}  # it insists on it where collectives overlap with products


def _needs(_: int, backend: str, device: str) -> str:
    return "Megatron-core gives each rank its own GPU" if device != "cpu" and backend != "nccl" else ""


def _needs_gpu(world: int, backend: str, device: str) -> str:
    words = "Megatron-core places the buffers of sequence parallel on GPUs only"
    return words if device == "cpu" else _needs(world, backend, device)


_LAYERED = Proof(
    "two steps of SGD: the embedding, both projections, the loss, gradients and parameters, each rank its own parts",
    "one process on the same device with torch's own functions in fp32 and whole weights",
    usual("value", "loss", "grad", "param"),
)
MODES = tuple(
    Mode(
        name,
        f"Megatron-core, {title}",
        run,
        _LAYERED,
        full=True,
        slow=3.0,
        launch=Launch(_command, packages=("megatron-core",), needs=needs, environment=_environment),
    )
    for name, title, run, needs in (
        ("megatron-tensor-parallel", "tensor-parallel layers", tensor_parallel, _needs),
        ("megatron-sequence-parallel", "tensor-parallel layers with a split sequence", sequence_parallel, _needs_gpu),
    )
)
