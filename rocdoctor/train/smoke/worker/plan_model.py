"""The model of a plan, divided over the ranks as the plan says: made without memory first, so that no rank ever holds
more than its part.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
from typing import Any

from .context import Context
from .modes.fsdp2 import library
from .modes.tensor_parallel import needs, placements


def code_of(context: Context) -> Any:
    """The decoder's module, which traces of memory use too; it lies beside the probe's programs."""
    folder = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(folder, "..", "..", "..", "host", "probe", "memory_model.py")
    found = importlib.util.spec_from_file_location("rocdoctor_memory_model", os.path.normpath(path))
    context.need(found is not None and found.loader is not None, "memory_model.py is missing: install rocdoctor again")
    module = importlib.util.module_from_spec(found)  # type: ignore[arg-type]
    found.loader.exec_module(module)  # type: ignore[union-attr]
    return module


class PlanModel:
    """The divided model: ``module`` is what is called, ``inner`` the decoder in it, ``mesh`` that of its data ranks."""

    def __init__(self, context: Context, order: dict[str, Any], layers: int) -> None:
        self.context, self.order = context, order
        torch = context.torch
        context.need(hasattr(torch.nn.functional, "rms_norm"), "needs torch 2.4: RMSNorm")
        code = code_of(context)
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.bfloat16 if order["params"] == "bf16" else torch.float32)
        try:
            with torch.device("meta"):
                model = code.Decoder(order, layers, self._mark)
        finally:
            torch.set_default_dtype(before)
        for place, layer in enumerate(model.layers):
            if order["recompute_layers"] is not None and place >= order["recompute_layers"]:
                layer.recompute = "none"
        self.inner = self.module = model
        self.layers = layers
        self.mesh: Any = None

    def _mark(self, part: str, place: int) -> None:
        words = {"forward": "forward pass", "backward": "backward pass"}
        if part in words:
            self.context.mark(f"{words[part]} of layer {place + 1} of {self.layers}")
        else:
            self.context.mark("head and loss" if part == "head" else part)

    def divided(self) -> PlanModel:
        """Divide it, give its parts memory, and fill them with numbers of the usual size."""
        context, order = self.context, self.order
        context.mark("dividing the model")
        tensor = int(order["tp"])
        if tensor > 1:
            self._over_tensors(tensor)
        if order["compile"]:
            self._compiled()
        if order["framework"] == "fsdp2":
            self._over_shards(tensor)
        context.mark("taking memory for the model")
        self.inner.to_empty(device=context.device)
        with context.torch.no_grad():
            for name, one in self.inner.named_parameters():
                part = one.to_local() if hasattr(one, "to_local") else one
                part.fill_(1.0) if "norm" in name or "first.w" in name or "second.w" in name else part.normal_(0, 0.02)
        if order["framework"] == "ddp" and context.world > 1:
            device = [context.device.index] if context.device.type == "cuda" else None
            self.module = context.torch.nn.parallel.DistributedDataParallel(self.inner, device_ids=device)
        return self

    def _compiled(self) -> None:
        torch = self.context.torch
        self.context.need(hasattr(torch.nn.Module, "compile"), "needs torch 2.2: Module.compile")
        for layer in self.inner.layers:
            layer.compile()
        self.inner.cross_entropy = torch.compile(self.inner.cross_entropy)

    def _over_tensors(self, size: int) -> None:
        """Projections by columns and rows, as torchtitan divides them; with a divided sequence between them."""
        context, order = self.context, self.order
        styles, names = needs(context), placements()
        rest = context.world // size
        self.mesh = context.mesh(rest, size, names=("dp", "tp"))
        whole, rows = names.Replicate(), names.Shard(1)
        between = rows if order["sequence"] else whole
        column = styles.ColwiseParallel
        layer: dict[str, Any] = {f"attention.{one}": column() for one in ("q", "k", "v")}
        layer.update({f"feed.{one}": column() for one in (("gate", "up") if order["gated"] else ("up",))})
        layer["attention.o"] = styles.RowwiseParallel(output_layouts=between)
        layer["feed.down"] = styles.RowwiseParallel(output_layouts=between)
        top: dict[str, Any] = {
            "embedding": styles.RowwiseParallel(input_layouts=whole, output_layouts=between),
            "head": column(input_layouts=between, output_layouts=names.Shard(-1), use_local_output=False),
        }
        if order["sequence"]:
            top["norm"] = layer["first"] = layer["second"] = styles.SequenceParallel()
            layer["attention"] = styles.PrepareModuleInput(
                input_layouts=(rows, None, None, None), desired_input_layouts=(whole, None, None, None)
            )
            layer["feed"] = styles.PrepareModuleInput(input_layouts=(rows,), desired_input_layouts=(whole,))
        styles.parallelize_module(self.inner, self.mesh["tp"], top)
        for one in self.inner.layers:
            styles.parallelize_module(one, self.mesh["tp"], layer)

    def _over_shards(self, tensor: int) -> None:
        context, order, torch = self.context, self.order, self.context.torch
        found = library(context)
        policy = found.MixedPrecisionPolicy()
        if order["mixed"]:
            summed = torch.bfloat16 if order["sums_in_16"] else torch.float32
            policy = found.MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=summed)
        if tensor > 1:
            mesh = self.mesh["dp"]
        elif order["replicate"] > 1:
            mesh = context.mesh(order["replicate"], order["shard"], names=("replicate", "shard"))
        else:
            mesh = context.mesh(context.world, names=("shard",))
        for one in (*self.inner.layers, self.inner):
            found.fully_shard(one, mesh=mesh, mp_policy=policy, reshard_after_forward=order["reshard"])

    def loss_place(self) -> Any:
        """Where loss and backward pass run: logits divided by words need a loss that knows it."""
        if int(self.order["tp"]) > 1:
            return needs(self.context).loss_parallel()
        return contextlib.nullcontext()
