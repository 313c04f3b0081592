"""The fabric that is not ready, from what CUDA says. The texts are constructed from its formats."""

from __future__ import annotations

from tests.kit import judge, k, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "fabric-message"


def test_error_802() -> None:
    text = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized"
    found = finding_of(CHECK, text, drivers={"nvidia": {"version": k("550.90.07")}})
    assert found is not None and found.cause == "fabric-manager-down"
    assert "fabric manager" in found.message and "550.90.07" in words_of(found)


def test_versions_that_differ() -> None:
    text = (
        "nv-fabricmanager: fabric manager NVIDIA GPU driver interface version 535.104.05 don't match with "
        "driver version "
        "535.129.03. Please update with matching NVIDIA driver package."
    )
    found = finding_of(CHECK, text)
    assert found is not None and "535.104.05" in found.message and "535.129.03" in found.message


def test_multicast_fails_after_the_service_was_restarted() -> None:
    text = "node:1:2 [0] transport/nvls.cc:101 NCCL WARN Cuda failure 801 'operation not supported'"
    alone = finding_of(CHECK, text)
    after = finding_of(CHECK, text + "\n$ sudo systemctl restart nvidia-fabricmanager")
    assert alone is not None and (alone.severity, alone.confidence) == ("warning", "possible")
    assert after is not None and after.severity == "error" and "reset the GPUs" in words_of(after)


def test_silence() -> None:
    assert states(judge(CHECK, pasted("Started NVIDIA fabric manager service."))) == ["not-applicable"]
