"""Adapters of low rank on every linear layer but the head, as PEFT adds them; everything else is frozen."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class Adapted(nn.Module):
    def __init__(self, inner: Any, rank: int) -> None:
        super().__init__()
        self.inner = inner
        self.a = nn.Linear(inner.in_features, rank, bias=False)
        self.b = nn.Linear(rank, inner.out_features, bias=False)

    def forward(self, x: Any) -> Any:
        return self.inner(x) + self.b(self.a(x))


def adapt(model: Any, rank: int) -> None:
    """Freeze the model and put adapters beside the linear layers of its blocks."""
    for one in model.parameters():
        one.requires_grad_(False)
    for block in model.layers.values():
        for part in (block.attention, block.feed_forward):
            for name, one in list(part.named_children()):
                if isinstance(one, torch.nn.Linear):
                    setattr(part, name, Adapted(one, rank))
