"""The data loader with worker processes: batches through shared memory, each sample exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import segments
from ..context import Context
from ..mode import Mode
from ..tolerance import EXACT, Proof

ORDER = 80
_SAMPLES, _SHAPE = 96, (3, 32, 32)


class _Rows:
    """A map-style dataset whose sample ``n`` is full of values that only ``n`` gives."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def __len__(self) -> int:
        return _SAMPLES

    def __getitem__(self, number: int) -> Any:
        return number, self._torch.full(_SHAPE, float(number * 7 % 101))


def loader(context: Context) -> None:
    """Two workers a rank and a DistributedSampler, over two epochs with different orders."""
    torch = context.torch
    from torch.utils.data.distributed import DistributedSampler

    rows: Any = _Rows(torch)
    sampler: Any = DistributedSampler(rows, context.world, context.rank, shuffle=True, seed=3)
    orders = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        shuffled = torch.randperm(_SAMPLES, generator=torch.Generator().manual_seed(3 + epoch)).tolist()
        padded = shuffled + shuffled[: -_SAMPLES % context.world]
        wanted = padded[context.rank :: context.world]
        seen: list[int] = []
        context.mark(f"epoch {epoch}: reading batches from two workers")
        for numbers, images in _batches(rows, sampler):
            seen += numbers.tolist()
            right = (numbers * 7 % 101).float()[:, None, None, None].expand(-1, *_SHAPE)
            layer = "framework" if _of_others(torch, images, right) else ""
            context.check("input", f"batch of epoch {epoch}", images, right, tolerance=0.0, step=epoch, layer=layer)
        name = f"order of epoch {epoch}"
        context.check("input", name, seen, wanted, tolerance=0.0, step=epoch, layer="framework")
        orders.append(seen)
    other = orders[0] != orders[1]
    words = "is the same in both epochs"
    context.expect("input", "the order of the samples", other, words, step=1, layer="framework")
    own = torch.zeros(_SAMPLES, device=context.device)
    own[torch.tensor(orders[0], device=context.device)] = 1.0
    context.mark("every sample once")
    torch.distributed.all_reduce(own)
    if _SAMPLES % context.world == 0:
        context.check("value", "how often each sample was read", own, torch.ones(_SAMPLES), tolerance=0.0, step=2)


def _of_others(torch: Any, images: Any, right: Any) -> bool:
    """Whether each image is a sample, of which some are not those of the batch: nothing was read wrongly."""
    flat = images.flatten(1)
    known = torch.tensor([number * 7 % 101 for number in range(_SAMPLES)], dtype=flat.dtype)
    return images.shape == right.shape and bool((flat == flat[:, :1]).all() and torch.isin(flat[:, 0], known).all())


def _batches(rows: Any, sampler: Any) -> Iterator[Any]:
    """What two workers read; nothing of theirs is left when they fail."""
    from torch.utils.data import DataLoader

    read: Any = iter(DataLoader(rows, batch_size=8, sampler=sampler, num_workers=2, timeout=20))
    workers = [one.pid for one in getattr(read, "_workers", ())]
    try:
        yield from read
    finally:
        segments.remove(workers)


_READ = Proof(
    "every sample of two epochs, its place in the order, and how often it was read",
    "samples that follow from their number, in the order that the sampler's seed gives",
    (EXACT,),
)
MODES = (Mode("data-loader", "data loader with worker processes and shared memory", loader, _READ, full=True),)
