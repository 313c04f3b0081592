"""After every rank got the same wrong numbers: whose contribution is wrong?

Not a mode of its own. Each rank in turn contributes the only non-zero part of an all_reduce and of a reduce_scatter,
and computes one product that all ranks know; a part that comes out wrong is its owner's. Before each, all ranks
contribute zeros: a rank that gives once more what it gave before then gives zeros, and spoils its own turn alone.
"""

from __future__ import annotations

from typing import Any

from .context import Context
from .exact_values import refused
from .mode import Mode

NAME = "locate"


def locate(context: Context) -> None:
    """Find the ranks whose part of a sum arrives wrong; ``facts["suspects"]`` lists them as this rank sees it.

    ``facts["computing"]``: those of them whose numbers come right, unless they have computed them themselves.
    """
    torch, dist = context.torch, context.torch.distributed
    suspects, computing = set(), set()
    generator = torch.Generator().manual_seed(3)
    square = torch.randint(-8, 8, (48, 48), generator=generator).float()
    wanted_product = (square.double() @ square.double()).flatten()
    for owner in range(context.world):
        for size in (1, 4097):
            part = torch.randint(1, 1 << 20, (size,), generator=generator).float()
            got = part.clone() if context.rank == owner else torch.zeros(size)
            got = got.to(context.device)
            context.mark(f"sum of rank {owner}'s part alone")
            dist.all_reduce(torch.zeros_like(got))
            dist.all_reduce(got)
            if not context.check("value", f"part of rank {owner} in a sum", got, part, tolerance=0.0):
                suspects.add(owner)
        if not _scattered(context, owner, torch.randint(1, 1 << 24, (1027 * context.world,), generator=generator)):
            suspects.add(owner)
        moved = square.to(context.device)
        product = (moved @ moved).flatten()
        if context.rank != owner:
            product = torch.zeros_like(product)
        context.mark(f"product of rank {owner}")
        dist.all_reduce(torch.zeros_like(product))
        dist.all_reduce(product)
        if not context.check("value", f"product of rank {owner}", product, wanted_product, tolerance=0.0):
            computing.add(owner)
    context.facts["computing"] = sorted(computing - suspects)
    context.facts["suspects"] = sorted(suspects | computing)


def _scattered(context: Context, owner: int, whole: Any) -> bool:
    """Whether the parts of a tensor that only ``owner`` has come right to all ranks, where there is reduce_scatter."""
    torch, dist = context.torch, context.torch.distributed
    from_one = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
    part = whole.float().chunk(context.world)[context.rank]
    sent = (whole if context.rank == owner else torch.zeros_like(whole)).float().to(context.device)
    got = torch.empty_like(part, device=context.device)
    context.mark(f"parts of rank {owner}'s sum alone")
    if refused(context, "reduce_scatter", lambda: from_one(torch.empty_like(got), torch.zeros_like(sent))):
        return True
    if refused(context, "reduce_scatter", lambda: from_one(got, sent)):
        return True
    return bool(context.check("value", f"parts of rank {owner} in a sum", got, part, tolerance=0.0))


MODE = Mode(NAME, "which rank's contribution is wrong", locate, min_world=2)
