"""What containers need for training: an image, shared memory."""

from __future__ import annotations

from rocdoctor.train.recommend.plan import Fleet, Vendor

# AMD's page on PyTorch containers starts one GPU with --shm-size 8G, its pages on training 8 GPUs with 64G.
_SHM_GIB_A_RANK = 8
SHM_WHY = "the collectives and the workers of data loaders exchange data in /dev/shm: 8 GiB per rank"

_IMAGES: dict[Vendor, tuple[str, str]] = {
    "amd": ("rocm/pytorch:latest", "AMD's PyTorch image"),
    "nvidia": ("pytorch/pytorch:latest", "PyTorch's own image, for CUDA"),
    "cpu": ("pytorch/pytorch:latest", "PyTorch's own image, which also works without a GPU"),
}


def placeholder(vendor: Vendor) -> tuple[str, str]:
    """An image to start from, and the comment that says so."""
    image, what = _IMAGES[vendor]
    return image, f"a placeholder, {what}: put in an image with your versions and your training program"


def shared_memory_gib(fleet: Fleet) -> int:
    """Size of /dev/shm in GiB: 8 a rank, at most half of the main memory of a node."""
    wanted = _SHM_GIB_A_RANK * fleet.per_node
    if fleet.host_memory_bytes:
        wanted = min(wanted, int(fleet.host_memory_bytes / 2 / 2**30))
    return max(1, wanted)
