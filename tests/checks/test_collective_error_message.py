"""Classes of errors of NCCL. The texts are the format strings of torch and NCCL, filled in."""

from __future__ import annotations

from tests.kit import judge, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "collective-error-message"
REMOTE = "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."


def test_a_remote_error_makes_this_rank_a_victim() -> None:
    found = finding_of(CHECK, f"torch.distributed.DistBackendError: NCCL error\n{REMOTE}")
    assert found is not None and (found.severity, found.cause) == ("info", "")
    assert "only affected by that" in found.message and "NCCL_DEBUG=INFO" in words_of(found)


def test_the_own_error_stands_before_the_peer() -> None:
    text = (
        "n1:9:9 [0] NCCL WARN socketProgress: Connection closed by remote peer n2.cluster<51234>\n"
        "ncclUnhandledCudaError: Call to CUDA function failed."
    )
    found = finding_of(CHECK, text)
    assert found is not None and "GPU runtime call failed" in found.message and "n2.cluster" in found.message


def test_an_ordinary_log_is_silent() -> None:
    assert states(judge(CHECK, pasted("NCCL INFO Connected all rings\nstep 1 loss 2.0"))) == ["not-applicable"]
