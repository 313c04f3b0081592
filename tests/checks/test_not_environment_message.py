"""Errors of code. The texts are constructed from the formats of torch and the HSA runtime."""

from __future__ import annotations

from tests.kit import amd_gpu, environment, judge, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "not-environment-message"


def test_unused_parameters() -> None:
    text = "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one."
    found = finding_of(CHECK, text)
    assert found is not None and found.cause == "not-environment" and found.severity == "warning"
    assert "find_unused_parameters" in words_of(found)


def test_a_kernel_of_another_target_without_an_override() -> None:
    found = finding_of(CHECK, "HSA_STATUS_ERROR_INVALID_ISA", amd_gpu(gfx="gfx1103"))
    assert found is not None and "gfx1103" in found.message and "library" in found.message
    override = environment({"HSA_OVERRIDE_GFX_VERSION": "11.0.0"}, complete=False)
    assert states(judge(CHECK, pasted("HSA_STATUS_ERROR_INVALID_ISA", amd_gpu(), environment=override))) == ["pass"]


def test_ordinary_mistakes() -> None:
    for text, word in (
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x10 and 12x5)", "shape"),
        ("CUDA error: device-side assert triggered", "index"),
        ("step 40 loss: nan", "NaN"),
        ("NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000", "LOCAL_RANK"),
    ):
        assert word in words_of(finding_of(CHECK, text)), text


def test_a_normal_log_is_silent() -> None:
    assert states(judge(CHECK, pasted("step 40 loss: 1.93 grad_norm: 0.8"))) == ["not-applicable"]


def test_requests_that_the_cluster_refuses() -> None:
    gres = finding_of(
        CHECK, "sbatch: error: Batch job submission failed: Invalid generic resource (gres) specification"
    )
    killed = finding_of(
        CHECK,
        "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.",
    )
    slots = finding_of(CHECK, "There are not enough slots available in the system to satisfy the 16 slots")
    assert gres is not None and gres.cause == "not-environment" and "sinfo" in words_of(gres)
    assert killed is not None and "main memory" in killed.message
    assert "--host NODE:N" in words_of(slots)


def test_cards_without_direct_copies() -> None:
    text = "NotImplementedError: Using RTX 4000 series doesn't support faster communication broadband via P2P or IB."
    assert "NCCL_P2P_DISABLE=1" in words_of(finding_of(CHECK, text))
