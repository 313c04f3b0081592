"""What another statement of the same text rules out. The texts are constructed."""

from __future__ import annotations

import pytest

from tests.text_kit import diagnosed, first_cause

_KEPT = "I stopped training with Ctrl-C, and the GPU memory of my MI50 is not released, only a reboot helps.\n"
_OOPS = (
    "dmesg:\n```\n[ 512.20] BUG: unable to handle kernel paging request at ffffe1c2200f15e0\n"
    "[ 512.21] IP: kfree+0x53/0x180\n[ 512.22] Oops: 0000 [#1] SMP PTI\n"
    "[ 512.23] Modules linked in: bridge aufs {} snd_hda_intel\n```\n"
)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (_KEPT, "out-of-memory"),
        (_KEPT + _OOPS.format("amdgpu(OE)"), "not-environment"),
        (_KEPT + _OOPS.format("vboxdrv(OE)"), "out-of-memory"),  # whose crash it was is open
    ],
)
def test_a_crash_of_the_kernel_is_no_left_over_process(text: str, cause: str) -> None:
    assert first_cause(text) == cause


_BANNER = (
    "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.\n"
    "E0319 13:20:57.08 1 pinned_memory_manager.cc:194] failed to allocate pinned system memory: CUDA driver version is "
    "insufficient for CUDA runtime version\n"
)


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("The server stops at once:\n", "container-device-access"),
        ("I start the server in non-GPU mode, as its manual describes, and it stops:\n", "not-environment"),
        ("Unable to start the server on a CPU-only device:\n", "not-environment"),
        ("We deploy Triton on two nodes for CPU inference, one of them stops:\n", "not-environment"),
        ("It starts in CPU-only mode although the machine has two GPUs:\n", "container-device-access"),
        ("It should use the GPU and not run on a machine without a GPU:\n", "container-device-access"),
    ],
)
def test_a_missing_driver_is_no_fault_where_no_gpu_is_meant(words: str, cause: str) -> None:
    assert first_cause(words + "```\n" + _BANNER + "```\n") == cause


_UNUSED = "The server in our docker container does not use the GPU (GeForce RTX 3060), it computes on the CPU.\n"


@pytest.mark.parametrize(
    ("words", "causes"),
    [
        ("", ["container-device-access", "driver-too-old", "driver-library-mismatch"]),
        (
            "The command `docker run --rm --gpus all ubuntu nvidia-smi` works.\n",
            ["wrong-backend-build", "gpu-arch-not-built", "container-device-access"],
        ),
        ("In the container nvidia-smi lists the card.\n", ["wrong-backend-build", "gpu-arch-not-built"]),
        ("On the host nvidia-smi works.\n", ["container-device-access"]),
        ("`docker run --rm --gpus all ubuntu nvidia-smi` prints an error.\n", ["container-device-access"]),
    ],
)
def test_what_nvidia_smi_shows_in_a_container_clears_driver_and_toolkit(words: str, causes: list[str]) -> None:
    assert [one.cause for one in diagnosed(_UNUSED + words).causes][: len(causes)] == causes


_SEEN_BY_ROOT = "torch does not use my RX 580 (gfx803). I have to call clinfo {}.\n"


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("again each time, it does not show the gpu", "pcie-atomics-missing"),
        ("with sudo, it does not show the gpu", "pcie-atomics-missing"),  # shows nothing even then
        ("with sudo though, else it does not show the gpu", "device-permission"),
        ("as root, or the card is not listed", "device-permission"),
    ],
)
def test_a_card_that_root_sees_has_what_its_path_must_offer(words: str, cause: str) -> None:
    assert first_cause(_SEEN_BY_ROOT.format(words)) == cause


_ALONE = (
    "init_process_group hangs in my notebook on 2 x Tesla P100.\n```python\ndist.init_process_group('nccl', {})\n```\n"
)


@pytest.mark.parametrize(
    ("arguments", "more", "cause"),
    [
        ("init_method='tcp://localhost:9129', rank=0, world_size=2", "", "not-environment"),
        ("world_size=2,\n    rank=0", "", "not-environment"),
        ("rank=0, world_size=2", "The second terminal runs it with rank=1.\n", "rendezvous-name-resolution"),
        ("rank=0, world_size=2", "I start it with torchrun.\n", "rendezvous-name-resolution"),
        ("rank=args.rank, world_size=2", "", "rendezvous-name-resolution"),
        ("rank=0, world_size=1", "", "rendezvous-name-resolution"),
    ],
)
def test_one_rank_of_two_waits_for_the_other(arguments: str, more: str, cause: str) -> None:
    assert first_cause(_ALONE.format(arguments) + more) == cause
