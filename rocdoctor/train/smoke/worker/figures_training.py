"""How fast a small transformer trains here: on each device alone, on 1 to all ranks, and compiled.

Tokens a second count whole steps (forward, backward, optimizer). The work of a token is 6 N + 12 L h s floating-point
operations (Chowdhery et al., PaLM, appendix B: N parameters that multiply, L layers, width h, sequence s), so that
the share of the device's peak is comparable with what others publish.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

from .context import Context
from .timing import elapsed, has_bf16, largest, measure, note, on_host, together, wait


class Shape:
    """Sizes of the model: ``vocabulary``, ``width``, ``heads``, ``layers``, ``sequence``, ``batch`` (sequences)."""

    __slots__ = ("batch", "heads", "layers", "sequence", "vocabulary", "width")

    def __init__(self, vocabulary: int, width: int, heads: int, layers: int, sequence: int, batch: int) -> None:
        self.vocabulary = vocabulary
        self.width = width
        self.heads = heads
        self.layers = layers
        self.sequence = sequence
        self.batch = batch

    @property
    def multiplying(self) -> int:
        """Parameters that take part in a product: all but the embedding, which is looked up."""
        return self.layers * 12 * self.width * self.width + self.vocabulary * self.width

    @property
    def token_flops(self) -> float:
        """Floating-point operations of one token, forward and backward."""
        return 6.0 * self.multiplying + 12.0 * self.layers * self.width * self.sequence

    @property
    def tokens(self) -> int:
        """Tokens of one step on one rank."""
        return self.batch * self.sequence

    @property
    def bytes(self) -> int:
        """Memory of a step in fp32, roughly: 16 bytes a parameter, and some 40 values a token, layer and column."""
        kept = self.multiplying + self.vocabulary * self.width
        return 16 * kept + 4 * self.tokens * (40 * self.layers * self.width + 3 * self.vocabulary)


# The largest that takes no more than this a step, at a rate that even poor software reaches.
_STEP_S, _ASSUMED_SHARE = 0.15, 0.3
_SHAPES = {
    "cpu": (Shape(512, 128, 4, 2, 64, 4),),
    "cuda": (
        Shape(8192, 2048, 16, 4, 1024, 8),
        Shape(8192, 1024, 8, 4, 512, 8),
        Shape(2048, 512, 8, 4, 256, 8),
        Shape(512, 256, 4, 2, 128, 8),
    ),
}


def build(torch: Any, shape: Shape, dtype: Any, device: Any) -> Any:
    """A plain transformer with fused projections: what training code of today is made of."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            width = shape.width
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
            self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

        def forward(self, x: Any) -> Any:
            three = self.qkv(self.norm1(x)).unflatten(-1, (3, shape.heads, -1)).permute(2, 0, 3, 1, 4)
            mixed = functional.scaled_dot_product_attention(three[0], three[1], three[2], is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).flatten(2))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    torch.manual_seed(11)
    with torch.device(device):  # random numbers for a quarter of a billion weights take the host seconds
        layers = [Block() for _ in range(shape.layers)]
        embedding = nn.Embedding(shape.vocabulary, shape.width)
        head = nn.Linear(shape.width, shape.vocabulary, bias=False)
        return nn.Sequential(embedding, *layers, nn.LayerNorm(shape.width), head).to(dtype)


def chosen(context: Context) -> tuple[Shape, Any]:
    """The model's sizes and type for this pool: the same on all ranks."""
    torch = context.torch
    dtype = torch.bfloat16 if context.device.type == "cuda" and has_bf16(context) else torch.float32

    def pick() -> int:
        shapes = _SHAPES[context.device.type]
        if len(shapes) == 1:
            return 0
        one = torch.randn(2048, 2048, device=context.device).to(dtype)
        seconds = largest(context, min(measure(context, lambda: torch.mm(one, one), repeats=3)))
        rate = 2.0 * 2048**3 / seconds
        taken = -torch.cuda.mem_get_info(context.device)[0]
        free = -largest(context, float(taken))
        for number, shape in enumerate(shapes):
            fits = 2 * shape.bytes * one.element_size() / 4 < free
            if fits and shape.tokens * shape.token_flops / (_ASSUMED_SHARE * rate) <= _STEP_S:
                return number
        return len(shapes) - 1

    return _SHAPES[context.device.type][int(context.cached("training shape", pick))], dtype


def step_of(context: Context, model: Any, shape: Shape) -> Any:
    """A function that makes one training step."""
    torch = context.torch
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    generator = torch.Generator().manual_seed(13)
    size = (shape.batch, shape.sequence + 1)
    tokens = torch.randint(shape.vocabulary, size, generator=generator).to(context.device)
    data, wanted = tokens[:, :-1].contiguous(), tokens[:, 1:].flatten()

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(data).float().flatten(0, 1), wanted)
        loss.backward()
        optimizer.step()

    return step


def _about(shape: Shape, dtype: Any) -> dict[str, Any]:
    return {
        "tokens": shape.tokens,
        "token_flops": shape.token_flops,
        "dtype": str(dtype).replace("torch.", ""),
        "parameters": shape.multiplying + shape.vocabulary * shape.width,
    }


def alone(context: Context) -> None:
    """Every rank trains by itself at the same time; rank 0 may write a trace of some steps."""
    shape, dtype = chosen(context)
    step = step_of(context, build(context.torch, shape, dtype, context.device), shape)
    together(context)
    context.mark("training steps of each rank alone")
    note(context, "training", measure(context, step, piece_s=0.1), **_about(shape, dtype))
    if context.options.get("trace") and context.rank == 0:
        _trace(context, step)
    together(context)


def _trace(context: Context, step: Any) -> None:
    """Three steps under torch.profiler, as a trace that chrome://tracing and Perfetto read."""
    from torch import profiler  # type: ignore[import-not-found, unused-ignore]

    context.mark("a trace of three steps")
    kinds = [profiler.ProfilerActivity.CPU]
    if context.device.type == "cuda":
        kinds.append(profiler.ProfilerActivity.CUDA)
    with profiler.profile(activities=kinds, record_shapes=True) as seen:
        for _ in range(3):
            step()
        wait(context)
    path = os.path.join(context.folder, "trace.json")
    seen.export_chrome_trace(path)
    context.facts["trace"] = path


def scaling(context: Context) -> None:
    """The same step under DistributedDataParallel on 1, 2, 4 ... all ranks, each rank with a batch of its own."""
    torch, dist = context.torch, context.torch.distributed
    shape, dtype = chosen(context)
    counts = [count for count in (1, 2, 4, 8, 16, 32) if count < context.world] + [context.world]
    for count in counts:
        group = None
        if 1 < count < context.world:
            group = context.cached(("first ranks", count), lambda some=count: dist.new_group(list(range(some))))
        step = None
        if context.rank < count:
            model = build(torch, shape, dtype, context.device)
            if count > 1:
                model = torch.nn.parallel.DistributedDataParallel(model, process_group=group)
            step = step_of(context, model, shape)
        together(context)
        context.mark(f"training steps on {count} ranks")
        for _ in range(3):
            if step is not None:
                step()
        together(context)
        once = elapsed(context, step, 2) / 2 if step is not None else 0.0
        calls = max(1, min(50, int(0.1 / max(largest(context, once), 1e-6))))
        seconds = [elapsed(context, step, calls) / calls for _ in range(3)] if step is not None else []
        together(context)
        if step is not None:
            note(context, "scaling", seconds, ranks=count, **_about(shape, dtype))


def compiled(context: Context) -> None:
    """Rank 0 compiles the model; the others wait, since compilers of all ranks at once would fight for the CPU."""
    torch = context.torch
    context.need(context.device.type == "cuda", "compiling takes longer than all other figures on the CPU")
    context.need(hasattr(torch, "compile"), "needs torch 2.0: torch.compile")
    shape, dtype = chosen(context)
    if context.rank == 0:
        import torch._dynamo

        context.mark("compiling")
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(context.folder, "inductor-figures")
        torch._dynamo.reset()
        model = build(torch, shape, dtype, context.device)
        step = step_of(context, torch.compile(model), shape)
        try:
            seconds = [on_host(context, step, 1)]
        except Exception as error:  # a compiler that is missing or broken is the mode compile's business
            context.facts["skipped"] = [f"torch.compile: {type(error).__name__}: {error}"[:160]]
        else:
            note(context, "compiling", seconds)
            context.mark("training steps, compiled")
            note(context, "training_compiled", measure(context, step, piece_s=0.1), **_about(shape, dtype))
        with contextlib.suppress(Exception):
            torch._dynamo.reset()
    together(context)
