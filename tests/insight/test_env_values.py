from __future__ import annotations

import pytest

from rocdoctor.insight.software.env_values import complaint, is_plain, meant
from rocdoctor.knowledge.lookup import env_variable


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_DEBUG", "INFO"),
        ("NCCL_DEBUG", "info"),
        ("NCCL_ALGO", "allreduce:tree;broadcast:ring"),
        ("NCCL_P2P_LEVEL", "PHB"),
        ("NCCL_P2P_LEVEL", "5"),
        ("NCCL_BUFFSIZE", "0x400000"),
        ("NCCL_IB_GID_INDEX", "-1"),
        ("OMP_NUM_THREADS", "8"),
        ("OMP_NUM_THREADS", "4,2"),
        ("OMP_NUM_THREADS", "$((SLURM_CPUS_ON_NODE / 8))"),
        ("OMP_NUM_THREADS", ""),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3"),
        ("TORCH_DISTRIBUTED_DEBUG", "DETAIL"),
        ("HSA_XNACK", "1"),
        ("WORLD_SIZE", "<number of ranks>"),
        ("HIP_VISIBLE_DEVICES", "nonsense"),  # a check of its own
    ],
)
def test_healthy_and_unjudged_values(name: str, value: str) -> None:
    entry = env_variable(name)
    assert entry is not None
    assert complaint(entry, value) is None


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("OMP_NUM_THREADS", "auto", "a whole number"),
        ("OMP_NUM_THREADS", "0", "at least 1"),
        ("NCCL_BUFFSIZE", "4M", "a whole number"),
        ("NCCL_IB_TC", "300", "at most 255"),
        ("CUDA_DEVICE_MAX_CONNECTIONS", "64", "at most 32"),
        ("NCCL_DEBUG", "debug", "is expected"),
    ],
)
def test_values_that_no_reader_takes(name: str, value: str, words: str) -> None:
    entry = env_variable(name)
    assert entry is not None
    assert words in (complaint(entry, value) or "")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("HIP_VISIBLE_DEVICE", "HIP_VISIBLE_DEVICES"),
        ("NCCL_DEBGU", "NCCL_DEBUG"),
        ("HSA_OVERIDE_GFX_VERSION", "HSA_OVERRIDE_GFX_VERSION"),
        ("NCCL_IB_HCAS", "NCCL_IB_HCA"),
        ("NCCL_DEBUG", None),  # right
        ("NCCL_SOMETHING_NEW", None),  # unknown, and near to nothing
        ("SLURM_JOB_IDS", None),  # no family of ours
        ("NCCL_X", None),  # too short to guess
    ],
)
def test_the_name_that_was_meant(name: str, near: str | None) -> None:
    assert meant(name) == near


def test_plain_values() -> None:
    assert is_plain("eth0,eth1")
    for value in ("", "  ", "$X", "${X}", "`hostname`", "<interface>", "eth...", "masked-3", "x" * 501):
        assert not is_plain(value), value
